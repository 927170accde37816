// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include "config/settings.h"
#include "diag/text.h"
#include "error.h"

namespace redlock::driver {

/// Writes to standard output. Returns `exit`; if writing failed, says why and returns status 71.
Exit print(const std::string& text, Exit exit);

/// Writes `text` to a file as os::WholeFile::replace() does; "-": to standard output. A pipe (if a
/// process reads from it), a terminal and /dev/null are written in place. Returns as print() does.
Exit print_to(const std::string& path, const std::string& text, Exit exit);

/// "redlock: …" on standard error, a line each.
void complain(const std::vector<std::string>& lines);

/// What the output `fd` can show. Its width is the value of COLUMNS, or else that of the terminal;
/// diag::kNoLimit if `fd` is no terminal.
[[nodiscard]] diag::Screen output_screen(const config::Settings& settings, int fd = STDOUT_FILENO);

/// UTF-8 if LC_ALL, LC_CTYPE or LANG, the first that is set, names it.
diag::Charset charset_of_locale();

}  // namespace redlock::driver
