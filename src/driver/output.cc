// SPDX-License-Identifier: MIT
#include "driver/output.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/standard_fds.h"
#include "os/stderr.h"
#include "os/terminal.h"

namespace redlock::driver {

Exit print(const std::string& text, Exit exit) {
  if (!text.empty() && os::output_was_closed()) {
    complain({"cannot write to standard output: it is closed"});
    return ExitStatus::os_error;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return exit;
  complain({std::string("cannot write to standard output: ") + std::strerror(errno)});
  return ExitStatus::os_error;
}

void complain(const std::vector<std::string>& lines) {
  os::Stderr out;
  for (const std::string& line : lines) out.line("redlock: " + line);
  out.drain(std::chrono::milliseconds(100));
}

bool output_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

std::size_t output_width(int fd) {
  constexpr std::size_t kLeast = 20;
  std::size_t width = 0;
  if (const char* columns = std::getenv("COLUMNS")) {
    static_cast<void>(std::from_chars(columns, columns + std::strlen(columns), width));
  }
  if (width == 0) width = os::terminal_width(fd).value_or(diag::kNoLimit);
  return std::max(width, kLeast);
}

diag::Charset charset_of_locale() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    std::string name(value);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool utf8 =
        name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
    return utf8 ? diag::Charset::utf8 : diag::Charset::ascii;
  }
  return diag::Charset::ascii;
}

}  // namespace redlock::driver
