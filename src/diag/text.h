// SPDX-License-Identifier: MIT
//
// Fits text to a terminal and its width. A character counts as one column, a wide character of East
// Asia as two, and an accent that goes on top of another character as none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "os/printable.h"

namespace redlock::diag {

/// For output that is not a terminal: nothing is cut.
inline constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

/// The characters that a terminal can show, or that a file is written in.
enum class Charset { ascii, utf8 };

/// For all text from elsewhere, see os/printable.h.
using os::printable;

std::size_t columns(std::string_view text);

/// The first `width` columns of `text` at most. If something is left out, "…" ends them, or "..."
/// in ASCII.
std::string cut(std::string_view text, std::size_t width, Charset charset);

/// Breaks `text` at blanks into lines of at most `width` columns. A longer word gets a line of its
/// own.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace redlock::diag
