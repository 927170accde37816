// SPDX-License-Identifier: MIT
//
// Operations and commands as tests need them: without details.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lock/vote.h"
#include "redis/requests/command.h"
#include "redis/wire/resp.h"

namespace redlock::tests {

template <std::size_t kIndex = 0>
lock::Operation operation_of(lock::Op op) {
  if constexpr (kIndex + 1 < std::variant_size_v<lock::Operation>) {
    if (static_cast<std::size_t>(op) != kIndex) return operation_of<kIndex + 1>(op);
  }
  return lock::Operation(std::in_place_index<kIndex>);
}

/// Commands that say nothing.
inline redis::Flight flight_of(std::size_t commands) {
  return {std::vector<redis::Command>(commands)};
}

/// The command's bytes.
inline std::string bytes_of(std::initializer_list<std::string_view> words) {
  std::string wire;
  redis::append_command(wire, std::vector(words));
  return wire;
}

}  // namespace redlock::tests
