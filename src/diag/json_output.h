// SPDX-License-Identifier: MIT
//
// JSON that is printed, by every command with --json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace redlock::diag {

/// In ASCII, so that it is printable() whatever others have written into it: all else stands there
/// as \uXXXX, and bytes that are not UTF-8 as U+FFFD.
template <class Json>
std::string json_output(const Json& value) {
  constexpr bool kInAscii = true;
  return value.dump(2, ' ', kInAscii, Json::error_handler_t::replace) + "\n";
}

}  // namespace redlock::diag
