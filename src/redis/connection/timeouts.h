// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace redlock::redis {

/// How long a server may take.
struct Timeouts {
  std::chrono::milliseconds request{200};   ///< to answer, from the time the request was sent
  std::chrono::milliseconds connect{1000};  ///< resolving, connecting and authenticating together
};

}  // namespace redlock::redis
