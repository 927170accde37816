// SPDX-License-Identifier: MIT
#include "diag/person.h"

#include <cstddef>

#include "os/printable.h"

namespace redlock::diag {

std::string person(std::string_view user, std::string_view host) {
  constexpr std::size_t kMost = 64;  // bytes of each
  return os::printable(user, kMost) + '@' + os::printable(host, kMost);
}

}  // namespace redlock::diag
