// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "diag/text.h"
#include "exit_status.h"

namespace redlock::driver {

/// Writes to standard output. Gives `exit`; if writing failed, says why and gives status 71.
Exit print(const std::string& text, Exit exit);

/// "redlock: …" on standard error, a line each.
void complain(const std::vector<std::string>& lines);

[[nodiscard]] bool output_is_terminal();

/// The value of COLUMNS, or else the width of the terminal `fd`; diag::kNoLimit if `fd` is no
/// terminal.
std::size_t output_width(int fd = STDOUT_FILENO);

/// UTF-8 if LC_ALL, LC_CTYPE or LANG, the first that is set, names it.
diag::Charset charset_of_locale();

}  // namespace redlock::driver
