// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace redlock::redis {

/// How long a server may take.
struct Timeouts {
  std::chrono::milliseconds request{200};   ///< for the answer, from the time it was sent
  std::chrono::milliseconds connect{1000};  ///< resolving, connecting and authenticating together
};

}  // namespace redlock::redis
