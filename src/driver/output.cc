// SPDX-License-Identifier: MIT
#include "driver/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "config/quote.h"
#include "os/clock.h"
#include "os/directory.h"
#include "os/fd.h"
#include "os/locale.h"
#include "os/standard_fds.h"
#include "os/stderr.h"
#include "os/terminal.h"

namespace redlock::driver {

namespace {

/// https://no-color.org, and a terminal that can show them.
bool wants_colors() {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const kind = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  return kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
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

}  // namespace

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

namespace {

int write_through(const std::string& path, const std::string& text) {
  const os::Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return errno;
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int replace(const std::string& path, const std::string& text) {
  struct stat status {};
  std::string target = path;
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) return write_through(path, text);
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    if (real) target = real.get();
  }
  const std::size_t slash = target.rfind('/');
  const bool here = slash == std::string::npos;
  os::Directory directory(here ? "." : target.substr(0, slash + 1));
  if (directory.error() != 0) return directory.error();
  if (const int error = directory.lock(os::boot_now() + std::chrono::seconds(1)); error != 0) {
    return error;
  }
  return directory.replace(here ? target : target.substr(slash + 1), text);
}

}  // namespace

Exit print_to(const std::string& path, const std::string& text, Exit exit) {
  if (path == "-") return print(text, exit);
  const int error = replace(path, text);
  if (error == 0) return exit;
  complain({fmt::format("cannot write to {}: {}", config::quote(path), std::strerror(error))});
  return ExitStatus::os_error;
}

void complain(const std::vector<std::string>& lines) {
  os::Stderr out;
  for (const std::string& line : lines) out.line("redlock: " + line);
  out.drain(std::chrono::milliseconds(100));
}

diag::Charset charset_of_locale() {
  return os::locale_is_utf8() ? diag::Charset::utf8 : diag::Charset::ascii;
}

diag::Screen output_screen(const config::Settings& settings, int fd) {
  const bool terminal = ::isatty(fd) == 1;
  return {.width = output_width(fd),
          .charset = charset_of_locale(),
          .terminal = terminal,
          .colors = settings.color == config::Color::always ||
                    (settings.color == config::Color::automatic && terminal && wants_colors())};
}

}  // namespace redlock::driver
