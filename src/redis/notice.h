// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "lock/vote.h"

namespace redlock::redis {

/// A message that came on a channel we subscribe to: to the holder of a lock, or to a waiter.
struct Notice {
  lock::ServerIndex server;
  std::string text;  ///< as of Subscriber::turn()
};

}  // namespace redlock::redis
