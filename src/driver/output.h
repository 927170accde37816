// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "diag/text.h"
#include "exit_status.h"

namespace redlock::driver {

/// Writes to standard output; gives `status`, or 71 if that failed, and says why.
int print(const std::string& text, ExitStatus status);

/// "redlock: …" on standard error, a line each.
void complain(const std::vector<std::string>& lines);

[[nodiscard]] bool output_is_terminal();

/// COLUMNS, or else the terminal that `fd` is; diag::kNoLimit if it is none.
std::size_t output_width(int fd = STDOUT_FILENO);

/// UTF-8 if LC_ALL, LC_CTYPE or LANG, the first that is set, names it.
diag::Charset charset_of_locale();

}  // namespace redlock::driver
