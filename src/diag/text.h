// SPDX-License-Identifier: MIT
//
// Lengths of time in words, and text fitted to a terminal and its width. A character counts as one
// column, a wide character of East Asia as two, and an accent that goes on top of another character
// as none.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <vector>

#include "lock/timing.h"
#include "os/printable.h"

namespace redlock::diag {

/// For output that is not a terminal: nothing is cut.
inline constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

/// The characters that a terminal can show, or that a file is written in.
enum class Charset { ascii, utf8 };

using os::printable;

std::size_t columns(std::string_view text);

/// The first `width` columns of `text` at most. If something is left out, "…" ends them, or "..."
/// in ASCII.
std::string cut(std::string_view text, std::size_t width, Charset charset);

/// "1 server", "3 servers"
std::string counted(std::integral auto number, std::string_view thing) {
  std::string text = std::to_string(number) + " ";
  return text.append(thing).append(number == 1 ? "" : "s");
}

/// Breaks `text` at blanks into lines of at most `width` columns. A longer word gets a line of its
/// own.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// How every sentence names a lock: `lock "deploy-shop"`, safe to print.
std::string lock_name(std::string_view name);

/// The same for tables and headings: `deploy-shop`. A foreign key that is no valid name of a lock
/// is cut.
std::string bare_name(std::string_view name);

/// A command about the lock, to paste into a shell: "redlock release --force deploy-shop". `words`:
/// the command; `where`: options (config/settings.h). Safe to print.
std::string command_about(std::string_view name, std::vector<std::string> words,
                          const std::vector<std::string>& where);

/// A key as the value of a Prometheus label, with its quotes.
std::string label_value(std::string_view key);

/// What the output can show; driver/output.h finds it out.
struct Screen {
  std::size_t width = kNoLimit;
  Charset charset = Charset::utf8;
  bool terminal = false;
  bool colors = false;
};

/// What a colour says, and its number as a parameter of SGR (ECMA-48, 8.3.117). A text must say the
/// same without it.
enum class Tint {
  none = 0,
  faint = 2,    ///< grey: headings
  bad = 31,     ///< red: undecided, failed
  good = 32,    ///< green: held, no problem
  notice = 33,  ///< yellow: cooling, revoked, a warning
};

/// `text` in its colour, if the screen has colours.
std::string paint(std::string text, Tint tint, const Screen& screen);

/// On a terminal without UTF-8: '?' for each character that is not ASCII. A file gets all bytes,
/// because a program may read it.
std::string for_screen(std::string text, const Screen& screen);

/// A length of time: "250 ms", "1.4 s", "28 s", "3m 2s", "1h 5m", "3d 4h".
std::string for_people(std::chrono::nanoseconds length);

/// The same for a length in any unit, however long.
template <class Rep, class Period>
std::string for_people(std::chrono::duration<Rep, Period> length) {
  return for_people(lock::saturated(length));
}

/// The same for a length that the user chose: "10m" and "1h", not "10m 0s" and "1h 0m".
std::string round_for_people(std::chrono::nanoseconds length);

/// The time since a moment that this or another host recorded, unless it is 0 or in the future.
std::optional<std::chrono::milliseconds> ago(std::chrono::milliseconds unix_time);

/// How long the last successful runs took.
struct Usual {
  std::size_t runs;  ///< at least 2
  std::chrono::milliseconds least;
  std::chrono::milliseconds most;
};

/// What may happen if too few servers know that a run was successful; empty: nothing.
std::string_view without_mark(lock::Mark mark);

/// The same for --hold-on-failure of a run that failed. `lock`: as lock_name() has it.
std::string without_hold(std::string_view lock);

/// `latest_first`: how long the successful runs took; the first five count, if there are two.
std::optional<Usual> usual_of(std::span<const std::chrono::milliseconds> latest_first);

/// "4m to 6m", "about 4m": without the digits that do not matter.
std::string range_of(const Usual& usual);

/// "last 5 runs took 4m to 6m"
std::string describe(const Usual& usual);

}  // namespace redlock::diag
