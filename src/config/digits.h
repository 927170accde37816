// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::config {

/// The same in every locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace redlock::config
