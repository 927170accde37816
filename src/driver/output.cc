// SPDX-License-Identifier: MIT
#include "driver/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "config/value.h"
#include "os/fd.h"
#include "os/printable.h"
#include "os/process.h"
#include "os/stderr.h"

namespace redlock::driver {

namespace {

std::size_t output_width(int fd) {
  constexpr std::size_t kLeast = 20;
  std::size_t width = 0;
  const std::string_view columns = os::variable("COLUMNS");
  static_cast<void>(std::from_chars(columns.begin(), columns.end(), width));
  if (width == 0) width = os::terminal_width(fd).value_or(diag::kNoLimit);
  return std::max(width, kLeast);
}

/// For a pipe, a terminal or /dev/null. `flags`: of open(2). Returns an errno; 0: success.
int write_in_place(const std::string& path, const std::string& text, int flags) {
  // O_NONBLOCK: open(2) must not wait for the reader of a pipe.
  constexpr int kFlags = O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  const os::Fd file(::open(path.c_str(), kFlags | flags));
  if (!file || ::fcntl(file.get(), F_SETFL, 0) != 0) return errno;
  return os::write_all(file.get(), text);
}

/// Returns an errno; 0: success.
int write_file(const std::string& path, const std::string& text) {
  const bool is_link_to_open_file =
      path == "/dev/stderr" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
  if (is_link_to_open_file) return write_in_place(path, text, O_TRUNC);
  struct stat status {};
  const bool there = ::lstat(path.c_str(), &status) == 0;
  if (there && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode))) {
    return write_in_place(path, text, O_NOFOLLOW);
  }
  const os::WholeFile file(path);
  return file.error() == 0 ? file.replace(text) : file.error();
}

const char* reason_of(int error) {
  if (error == ELOOP) return "it is a symbolic link; name the file itself";
  if (error == EINVAL) return "it is not a regular file";
  return error == ENXIO ? "no process reads from it" : std::strerror(error);
}

/// The last filter for foreign text, as for standard error: only our colours pass.
std::string for_terminal(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    std::size_t length = os::length_of_first(text);
    const std::size_t end =
        text.starts_with("\x1b[") ? text.find_first_not_of("0123456789", 2) : text.npos;
    const bool color = end != text.npos && text[end] == 'm';
    if (color) length = end + 1;
    const std::string_view piece = text.substr(0, length);
    clean += color || piece == "\n" || os::is_printable(piece) ? piece : "?";
    text.remove_prefix(length);
  }
  return clean;
}

}  // namespace

Exit print(const std::string& raw, Exit exit) {
  const std::string text = ::isatty(STDOUT_FILENO) == 1 ? for_terminal(raw) : raw;
  if (!text.empty() && os::output_was_closed()) {
    complain({"cannot write to standard output: it is closed"});
    return ExitStatus::os_error;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return exit;
  complain({std::string("cannot write to standard output: ") + std::strerror(errno)});
  return ExitStatus::os_error;
}

Exit print_to(const std::string& path, const std::string& text, Exit exit) {
  if (path == "-" || path == "/dev/stdout") return print(text, exit);
  const int error = write_file(path, text);
  if (error == 0) return exit;
  complain({fmt::format("cannot write to {}: {}", config::quote(path), reason_of(error))});
  return ExitStatus::os_error;
}

void complain(const std::vector<std::string>& lines) {
  os::Stderr out;
  for (const std::string& line : lines) out.line("redlock: " + line);
  out.drain();
}

diag::Charset charset_of_locale() {
  return os::locale_is_utf8() ? diag::Charset::utf8 : diag::Charset::ascii;
}

diag::Screen output_screen(const config::Settings& settings, int fd) {
  const bool terminal = ::isatty(fd) == 1;
  return {.width = output_width(fd),
          .charset = charset_of_locale(),
          .terminal = terminal,
          .colors = settings.color == config::When::always ||
                    (settings.color == config::When::automatic && terminal &&
                     os::terminal_knows_escapes() &&
                     os::variable("NO_COLOR").empty())};  // https://no-color.org
}

}  // namespace redlock::driver
