// SPDX-License-Identifier: MIT
#pragma once

#include <poll.h>
#include <unistd.h>

#include <string_view>

namespace redlock::os {

/// If there is no memory even for a message: writes the line (with its newline) to standard error,
/// if that takes it at once.
inline void last_words(std::string_view line) noexcept {
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 0) return;
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace redlock::os
