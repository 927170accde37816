// SPDX-License-Identifier: MIT
#include "redis/wire/untrusted.h"

#include "os/printable.h"

namespace redlock::redis {

std::string untrusted(std::string_view text) {
  constexpr std::size_t kMost = 120;
  return os::printable(text, kMost);
}

}  // namespace redlock::redis
