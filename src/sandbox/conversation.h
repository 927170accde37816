// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::sandbox {

/// Connects to the server at this Unix socket, sends `commands` (each ends with a line break) and
/// returns all that it answers, or as much as came until `deadline`. Empty: the server is not
/// there. No value: `stop` (a descriptor) has become readable or hung up meanwhile.
std::optional<std::string> converse(const std::string& socket, std::string_view commands, int stop,
                                    std::chrono::steady_clock::time_point deadline);

/// Waits for 5 ms. False when `stop` has become readable or hung up meanwhile.
bool wait_a_moment(int stop);

}  // namespace redlock::sandbox
