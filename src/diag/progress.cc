// SPDX-License-Identifier: MIT
#include "diag/progress.h"

#include <fmt/format.h>

#include <array>

#include "diag/blocker.h"
#include "lock/timing.h"
#include "os/printable.h"

namespace redlock::diag {

namespace {

using std::chrono::ceil;
using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A command is left out if there is room for fewer columns of it than this.
constexpr std::size_t kLeastCommand = 8;

/// Why we do not get the lock, in parts that can be left out.
struct Obstacle {
  std::string verb{};     ///< "held by "
  std::string subject{};  ///< "root@db7"
  std::string command{};  ///< "./deploy.sh", or the holder's message, which says more
  std::string doubt{};    ///< ", may be dead", which stays
  std::string length{};   ///< " for 3m 12s"
};

std::string in_seconds(milliseconds time) {
  if (time >= std::chrono::minutes(1)) return for_people(time);
  return fmt::format("{} s", floor<seconds>(time).count());
}

Obstacle servers_missing(const lock::Waiting& state) {
  const bool alone = state.servers == 1 && !state.obstructed && !state.distrusted;
  if (alone) return {.subject = "the server does not answer"};
  return {.subject = fmt::format("{} of {} servers {}, {} needed", state.answering, state.servers,
                                 state.obstructed   ? "can grant it"
                                 : state.distrusted ? "have a vote"
                                                    : "answer",
                                 lock::quorum(state.servers))};
}

Obstacle somebody(const WaitFacts& facts) {
  const lock::Refused& refusal = *facts.state.refusal;
  const Blocker blocker(refusal);
  const auto first =
      refusal.waits_before ? records::read_holder(*refusal.waits_before) : std::nullopt;
  const auto& holder = first ? first : blocker.holder;
  Obstacle obstacle;
  obstacle.verb = first ? "kept for " : blocker.verb;
  obstacle.subject = holder ? person(*holder) : std::string(blocker.nobody);
  if (holder && !holder->message.empty()) {
    obstacle.command = message_of(*holder);
  } else if (holder && !blocker.maintenance) {
    obstacle.command = command_of(*holder);
  }
  if (blocker.late) obstacle.doubt = ", may be dead";
  const bool ends =
      blocker.kind == lock::Value::Kind::cooling || blocker.maintenance || blocker.late;
  if (!blocker.job.empty()) {
    obstacle.length = blocker.job;
  } else if (ends && refusal.ttl_left) {
    const auto left = ceil<seconds>(*refusal.ttl_left - facts.refusal_age);
    obstacle.length = ", free in " + in_seconds(std::max(left, seconds(0)));
  } else if (blocker.kind != lock::Value::Kind::cooling && holder &&
             holder->since > milliseconds(0) && holder->since <= facts.unix_time) {
    obstacle.length = " for " + in_seconds(facts.unix_time - holder->since);
  }
  return obstacle;
}

Obstacle obstacle_of(const WaitFacts& facts) {
  const lock::Waiting& state = facts.state;
  if (state.lacks_quorum) return servers_missing(state);
  if (state.asked && state.refusal) return somebody(facts);
  if (state.asked) return {.subject = "several processes want it at the same time"};
  return {.subject = state.servers == 1 ? std::string("asking the server")
                                        : fmt::format("asking {} servers", state.servers)};
}

std::string ordinal(std::size_t number) {
  const std::size_t last = number % 10;
  const bool teen = number / 10 % 10 == 1;
  return fmt::format("{}{}", number,
                     teen        ? "th"
                     : last == 1 ? "st"
                     : last == 2 ? "nd"
                     : last == 3 ? "rd"
                                 : "th");
}

/// Empty if the place is unknown, or too few servers answer.
std::string place_text(const WaitFacts& facts, std::string_view before) {
  const lock::Waiting& state = facts.state;
  if (state.place == 0 || state.lacks_quorum) return {};
  if (state.length == 1) return std::string(before) + "next";
  return fmt::format("{}{} of {}", before, ordinal(state.place), state.length);
}

/// "0:41", "10:00", "1:02:03".
std::string as_clock(seconds time) {
  const auto whole = time.count();
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string time_text(const WaitFacts& facts) {
  const std::string waited = as_clock(floor<seconds>(facts.waited));
  return facts.limit ? waited + " of " + as_clock(ceil<seconds>(*facts.limit)) : waited;
}

/// What a line says; each row says less than the one before.
struct Detail {
  bool command;
  bool length;
  bool verb;
  std::optional<std::string_view> before_place;  ///< none: without the place
  std::string_view before_time;
  bool limit;
};

constexpr std::string_view kYouAre = "you are ";
constexpr std::string_view kWaited = "waited ";
constexpr std::array kDetails = {
    Detail{true, true, true, kYouAre, kWaited, true},
    Detail{true, true, true, "", kWaited, true},
    Detail{false, true, true, kYouAre, kWaited, true},
    Detail{false, true, true, "", kWaited, true},
    Detail{true, false, true, "", kWaited, true},
    Detail{false, false, true, "", kWaited, true},
    Detail{false, false, true, "", "", true},
    Detail{false, false, false, "", "", true},
    Detail{false, false, false, "", "", false},
    Detail{false, false, false, {}, "", false},
};

/// A terminal shows the bare name as a heading, to save room; a log gets a sentence.
enum class Style { heading, sentence };

struct Composer {
  Composer(const WaitFacts& wait, Style chosen, Charset charset)
      : facts(wait),
        style(chosen),
        separator(chosen == Style::heading && charset == Charset::utf8 ? " \u00b7 " : ", "),
        lock(chosen == Style::sentence ? lock_name(wait.lock) : bare_name(wait.lock)),
        obstacle(obstacle_of(wait)) {
    if (charset == Charset::utf8) return;
    for (std::string* text : {&lock, &obstacle.subject, &obstacle.command}) {
      *text = os::to_ascii(*text);
    }
  }

  /// `command`: of the holder, or as much of it as fits.
  [[nodiscard]] std::string head(const Detail& detail, std::string_view command) const {
    const bool verb = detail.verb && !obstacle.verb.empty();
    std::string text = lock + (verb && style == Style::sentence ? " is " : ": ");
    if (verb) text += obstacle.verb;
    text += obstacle.subject;
    if (detail.command && !command.empty()) text.append(" (").append(command).append(")");
    text += obstacle.doubt;
    return detail.length ? text + obstacle.length : text;
  }

  [[nodiscard]] std::string tail(const Detail& detail) const {
    const std::string place =
        detail.before_place ? place_text(facts, *detail.before_place) : std::string();
    std::string text = place.empty() ? "" : std::string(separator) + place;
    text.append(separator).append(detail.before_time);
    return text + (detail.limit ? time_text(facts) : as_clock(floor<seconds>(facts.waited)));
  }

  [[nodiscard]] std::string line(const Detail& detail, std::string_view command) const {
    return head(detail, command) + tail(detail);
  }

  const WaitFacts& facts;
  Style style;
  std::string_view separator;
  std::string lock;
  Obstacle obstacle;
};

/// The most that fits. None if not even the last detail does.
std::optional<std::string> fit(const Composer& composer, std::size_t width, Charset charset) {
  const std::string& command = composer.obstacle.command;
  for (const Detail& detail : kDetails) {
    std::string line = composer.line(detail, command);
    const std::size_t length = columns(line);
    if (length <= width) return line;
    if (!detail.command || detail.before_place == kYouAre || command.empty()) continue;
    const std::size_t excess = length - width;
    const std::size_t whole = columns(command);
    if (whole < excess + kLeastCommand) continue;
    return composer.line(detail, cut(command, whole - excess, charset));
  }
  return std::nullopt;
}

/// On a narrower screen, a part of the lock's name says more than parts of two names.
constexpr std::size_t kLeastWidth = 24;

/// A long name must not push out the holder: then it gets a third of the line.
std::string fit_name(const Composer& composer, std::size_t width, Charset charset) {
  if (auto line = fit(composer, width, charset)) return *line;
  Composer shorter = composer;
  shorter.lock = cut(composer.lock, width / 3, charset);
  if (auto line = fit(shorter, width, charset)) return *line;
  // The time shows that something still goes on, so it stays.
  const std::string tail = composer.tail(kDetails.back());
  const std::string head = (width < kLeastWidth ? composer : shorter).head(kDetails.back(), {});
  const std::size_t reserved = columns(tail);
  if (reserved + kLeastCommand > width) return cut(head + tail, width, charset);
  return cut(head, width - reserved, charset) + tail;
}

}  // namespace

std::string live_line(const WaitFacts& facts, std::size_t width, Charset charset) {
  return fit_name(Composer(facts, Style::heading, charset), width, charset);
}

std::string plain_line(const WaitFacts& facts) {
  const Composer composer(facts, Style::sentence, Charset::utf8);
  return composer.line(kDetails.front(), composer.obstacle.command);
}

}  // namespace redlock::diag
