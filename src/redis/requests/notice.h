// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "lock/vote.h"

namespace redlock::redis {

/// A message on a channel to which we subscribe: for the holder of a lock, or for a waiter.
struct Notice {
  lock::ServerIndex server;
  std::string text;  ///< as of Subscriber::turn()
};

}  // namespace redlock::redis
