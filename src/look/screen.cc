// SPDX-License-Identifier: MIT
#include "look/screen.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

#include "config/value.h"
#include "driver/output.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "records/records.h"

namespace redlock::look {

std::size_t sum(const Widths& widths) {
  std::size_t total = 0;
  for (const std::size_t width : widths) {
    if (width > 0) total += width + (total == 0 ? 0 : kGap);
  }
  return total;
}

Line heading(std::span<const std::string_view> words) {
  Line line;
  for (const std::string_view word : words) {
    line.push_back({std::string(word), diag::Tint::faint});
  }
  return line;
}

std::size_t widest(const std::vector<Line>& lines, std::size_t column) {
  std::size_t most = 0;
  for (const Line& line : lines) most = std::max(most, diag::columns(line[column].text));
  return most;
}

void fit_charset(std::vector<Line>& lines, const diag::Screen& screen) {
  for (Line& line : lines) {
    for (Cell& cell : line) cell.text = diag::for_screen(std::move(cell.text), screen);
  }
}

void cut_cells(std::vector<Line>& lines, std::size_t column, std::size_t most,
               diag::Charset charset) {
  for (Line& line : lines) line[column].text = diag::cut(line[column].text, most, charset);
}

Widths fit(const std::vector<Line>& lines, std::span<const std::size_t> left_out,
           std::size_t width) {
  Widths widths(lines.front().size());
  for (std::size_t column = 0; column < widths.size(); ++column) {
    widths[column] = widest(lines, column);
  }
  Widths needed = widths;
  needed.back() = std::min(needed.back(), kLeastCommand);
  for (const std::size_t column : left_out) {
    if (sum(needed) <= width) break;
    needed[column] = widths[column] = 0;
  }
  return widths;
}

std::string lay_out(const std::vector<Line>& lines, const Widths& widths,
                    const diag::Screen& screen) {
  std::string out;
  for (const Line& line : lines) {
    std::string row;
    std::size_t used = 0;  // columns, of the text so far
    std::size_t end = 0;   // of the column before, with its blanks
    for (std::size_t column = 0; column < widths.size() && end < screen.width; ++column) {
      if (widths[column] == 0) continue;
      std::string text = diag::cut(line[column].text, screen.width - end, screen.charset);
      text.erase(text.find_last_not_of(' ') + 1);
      if (!text.empty()) {
        row.append(end - used, ' ');
        used = end + diag::columns(text);
        row += diag::paint(std::move(text), line[column].tint, screen);
      }
      end += widths[column] + kGap;
    }
    out += row + "\n";
  }
  return out;
}

namespace {

using diag::Screen;

/// The terminal's alternate screen: at the end, the terminal shows again what it showed before. The
/// sequences are those of xterm(1), which all emulators know. Keys come without Enter, and are not
/// shown.
class Canvas {
 public:
  Canvas() = default;
  ~Canvas() { leave(); }
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  /// In the background the terminal belongs to the shell. If it has hung up, SIGHUP follows.
  void draw(const std::string& lines) {
    if (::tcgetpgrp(STDOUT_FILENO) != ::getpgrp()) return;
    std::string text = shown_ ? "" : "\x1b[?1049h\x1b[?25l\x1b[?7l";  // no cursor, no line wrap
    shown_ = true;
    // Erases each line before writing it: after its last column, this would erase that column.
    text += "\x1b[H\x1b[K";
    for (const char c : lines) text += c == '\n' ? std::string("\r\n\x1b[K") : std::string(1, c);
    os::write_all(STDOUT_FILENO, text + "\x1b[J");
  }

  void leave() {
    if (shown_) os::write_all(STDOUT_FILENO, "\x1b[?7h\x1b[?25h\x1b[?1049l");
    shown_ = false;
    if (modes_) ::tcsetattr(STDIN_FILENO, TCSANOW, &*modes_);
    modes_.reset();
  }

  /// Switches off echo and lines, unless standard input is no terminal, or one of the shell.
  void take_keyboard() {
    termios modes{};
    if (modes_ || deaf_ || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp() ||
        ::tcgetattr(STDIN_FILENO, &modes) != 0) {
      return;
    }
    modes_ = modes;
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    modes.c_cc[VMIN] = modes.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &modes);
  }

  /// The descriptor with the user's keys, or -1.
  [[nodiscard]] int keyboard() const { return modes_ && !deaf_ ? STDIN_FILENO : -1; }

  /// Whether one of the keys that the user has pressed is q.
  bool takes_q() {
    std::array<char, 64> keys{};
    const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
    deaf_ = count <= 0;  // the terminal hung up
    return std::string_view(keys.data(), count < 0 ? 0 : static_cast<std::size_t>(count))
               .find('q') != std::string_view::npos;
  }

 private:
  bool shown_ = false;
  bool deaf_ = false;
  std::optional<termios> modes_;  ///< of the keyboard, as it was
};

/// The title, the text and the complaints, as much as fits into the height. `ends`: the key that
/// ends it.
std::string composed(const std::string& title, std::chrono::milliseconds every,
                     std::string_view ends, const Frame& frame, const Screen& screen) {
  const std::tm now = fmt::localtime(std::time(nullptr));
  constexpr std::size_t kNarrow = 60;
  const std::string pace =
      screen.width < kNarrow ? "" : ", every " + config::format_duration(every);
  const std::string rest = fmt::format("  {:%H:%M:%S}{}, {} ends", now, pace, ends);
  std::string all = diag::cut(diag::for_screen(title, screen),
                              screen.width - std::min(screen.width, rest.size()), screen.charset);
  all = diag::cut(all + rest, screen.width, screen.charset);
  all = diag::paint(std::move(all), diag::Tint::faint, screen) + "\n" + frame.text;
  for (const std::string& complaint : frame.complaints) {
    for (const std::string& line : diag::wrap(diag::for_screen(complaint, screen), screen.width)) {
      all += diag::paint(line, diag::Tint::notice, screen) + "\n";
    }
  }
  const std::size_t height = os::terminal_height(STDOUT_FILENO).value_or(24);
  std::size_t end = 0;
  for (std::size_t line = 1; line < height; ++line) {
    const std::size_t next = all.find('\n', end);
    if (next == std::string::npos) return all;
    end = next + 1;
  }
  const auto more = static_cast<std::size_t>(
      std::count(all.begin() + static_cast<std::ptrdiff_t>(end), all.end(), '\n'));
  if (more == 0) return all;
  return all.substr(0, end) + "and " + diag::counted(more, "more line");
}

/// What a signal means: the end of watching, or none.
std::optional<Exit> taken(const os::ReceivedSignal& signal, os::SignalSource& signals,
                          Canvas& canvas) {
  if (signal.number == SIGINT) return ExitStatus::ok;
  if (signal.number == SIGTSTP) {
    canvas.leave();
    signals.stop_self(SIGTSTP, lock::kNever);
  }
  if (!os::ends_process_by_default(signal.number)) return std::nullopt;
  return Exit::by_signal(signal.number);
}

Exit watch(const cli::Request& request, const std::string& title, const Look& look) {
  if (::isatty(STDOUT_FILENO) != 1 || !os::terminal_knows_escapes()) {
    throw Error(ExitStatus::usage,
                "--watch draws on a terminal, and standard output is not one that can be redrawn");
  }
  os::SignalSource signals;
  signals.take_job_control();
  os::Loop loop;
  Canvas canvas;
  while (true) {
    const Screen screen = driver::output_screen(request.settings);
    canvas.take_keyboard();
    const std::string_view ends = canvas.keyboard() < 0 ? "Ctrl-C" : "q";
    canvas.draw(composed(title, request.interval, ends, look(screen), screen));
    const lock::Instant next = os::boot_now() + request.interval;
    bool redraw = false;
    while (!redraw && os::boot_now() < next) {
      std::array interests{os::Interest{.fd = signals.fd(), .read = true},
                           os::Interest{.fd = canvas.keyboard(), .read = true}};
      loop.wait(interests, next);
      if (interests[1].ready && canvas.takes_q()) return ExitStatus::ok;
      for (const os::ReceivedSignal& signal : signals.take()) {
        if (const auto end = taken(signal, signals, canvas)) return *end;
        redraw = redraw || signal.number == SIGWINCH || signal.number == SIGCONT;
      }
    }
  }
}

}  // namespace

Exit show(const cli::Request& request, const std::vector<std::string>& typed, const Look& look) {
  if (request.watch) return watch(request, diag::printable(records::shell_like(typed), 255), look);
  const Frame frame = look(driver::output_screen(request.settings));
  driver::complain(frame.complaints);
  return driver::print(frame.text, frame.status);
}

}  // namespace redlock::look
