// SPDX-License-Identifier: MIT
#include "diag/lock_name.h"

#include <cstddef>

#include "os/printable.h"

namespace redlock::diag {

namespace {

/// A foreign key that is no valid name of a lock may be longer.
constexpr std::size_t kMostShown = 255;

}  // namespace

std::string lock_name(std::string_view name) {
  return "lock \"" + os::printable(name, kMostShown) + '"';
}

}  // namespace redlock::diag
