// SPDX-License-Identifier: MIT
//
// Text made fit for a terminal, and for its width. A character counts as one column, one of the
// wide ones of East Asia as two, and an accent that goes on top of another as none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "os/printable.h"

namespace redlock::diag {

/// Where output is no terminal: nothing is cut.
inline constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

/// What a terminal can show, or a file is written in.
enum class Charset { ascii, utf8 };

/// For all text from elsewhere, see there.
using os::printable;

std::size_t columns(std::string_view text);

/// At most `width` columns of it, "…" at the end included if something is left out.
std::string cut(std::string_view text, std::size_t width);

/// `text` broken at blanks into lines of at most `width` columns. A word that is longer has a line
/// of its own.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace redlock::diag
