// SPDX-License-Identifier: MIT
#pragma once

#include <array>

namespace redlock::tests {

/// These, for a loop over more of them than a list in braces shows well.
constexpr auto each_of(auto... all) {
  return std::array{all...};
}

}  // namespace redlock::tests
