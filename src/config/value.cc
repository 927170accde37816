// SPDX-License-Identifier: MIT
#include "config/value.h"

#include <charconv>
#include <csignal>

#include "config/moment.h"
#include "config/quote.h"
#include "error.h"
#include "os/clock.h"

namespace redlock::config {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;

namespace {

struct Signal {
  int number;
  std::string_view name;
};
/// The same as sigabbrev_np(3), which only glibc has. No real-time signals: libc keeps some of them
/// for itself.
constexpr Signal kSignals[] = {
    {SIGHUP, "HUP"},       {SIGINT, "INT"},       {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},
    {SIGTRAP, "TRAP"},     {SIGABRT, "ABRT"},     {SIGBUS, "BUS"},   {SIGFPE, "FPE"},
    {SIGKILL, "KILL"},     {SIGUSR1, "USR1"},     {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
    {SIGPIPE, "PIPE"},     {SIGALRM, "ALRM"},     {SIGTERM, "TERM"},
#ifdef SIGSTKFLT  // not on MIPS, SPARC and Alpha
    {SIGSTKFLT, "STKFLT"},
#endif
    {SIGCHLD, "CHLD"},     {SIGCONT, "CONT"},     {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"},
    {SIGTTIN, "TTIN"},     {SIGTTOU, "TTOU"},     {SIGURG, "URG"},   {SIGXCPU, "XCPU"},
    {SIGXFSZ, "XFSZ"},     {SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"},
    {SIGPOLL, "POLL"},     {SIGPWR, "PWR"},       {SIGSYS, "SYS"},
};

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace

void refuse(const std::string& expected, std::string_view value) {
  throw Error(ExitStatus::usage, "expected " + expected + ", not " + quote(value));
}

nanoseconds to_duration(std::string_view value, Bounds bounds) {
  const auto parsed = parse_duration(value);
  if (parsed && *parsed >= bounds.least && *parsed <= bounds.most) return *parsed;
  std::string range;
  if (bounds.most < kLongestDuration) {
    range = " from " + format_duration(bounds.least) + " to " + format_duration(bounds.most);
  } else if (bounds.least > 0ns) {
    range = " of at least " + format_duration(bounds.least);
  }
  refuse("a time" + range + " (90, 1.5, 500ms, 30s, 5m, 1h30m, 2d, 1w)", value);
}

milliseconds in_milliseconds(nanoseconds time) {
  return std::chrono::floor<milliseconds>(time);
}

milliseconds to_future_moment(std::string_view value, nanoseconds most) {
  const milliseconds now = os::unix_now();
  const auto parsed = parse_future_moment(value, now);
  if (parsed && *parsed >= now + 1s && *parsed <= now + in_milliseconds(most)) return *parsed;
  refuse("a time in the future, at most " +
             std::to_string(std::chrono::floor<std::chrono::days>(most).count()) +
             " days ahead (2h, 3d, 02:30, tomorrow, 2026-11-20, 2026-11-20T02:30)",
         value);
}

milliseconds to_moment(std::string_view value) {
  const milliseconds now = os::unix_now();
  const auto parsed = parse_moment(value, now);
  if (parsed && *parsed <= now) return *parsed;
  refuse("a time in the past (2h, 3d, 02:30, yesterday, 2026-11-20, 2026-11-20T02:30)", value);
}

int to_integer(std::string_view value, int least, int most) {
  const auto number = whole_number(value);
  if (number && *number >= least && *number <= most) return *number;
  refuse("a whole number from " + std::to_string(least) + " to " + std::to_string(most), value);
}

int to_signal(std::string_view value) {
  const auto number = whole_number(value);
  const std::string_view name = value.starts_with("SIG") ? value.substr(3) : value;
  for (const Signal& signal : kSignals) {
    if (number ? signal.number == *number : signal.name == name) return signal.number;
  }
  refuse("a signal (TERM, SIGTERM, 15)", value);
}

std::vector<std::string> signal_names() {
  std::vector<std::string> names;
  for (const Signal& signal : kSignals) names.emplace_back(signal.name);
  return names;
}

std::string to_file(std::string_view value) {
  if (value.empty()) refuse("the name of a file", value);
  return std::string(value);
}

}  // namespace redlock::config
