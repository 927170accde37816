// SPDX-License-Identifier: MIT
#include "diag/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "diag/blocker.h"
#include "lock/timing.h"
#include "os/printable.h"

namespace redlock::diag {

namespace {

using Kind = lock::Value::Kind;
using std::chrono::ceil;
using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A command is left out if there is room for fewer columns of it than this.
constexpr std::size_t kLeastCommand = 8;

/// Why we do not get the lock, in parts that can be left out: "held by ", "root@db7",
/// "./deploy.sh", " for 3m 12s".
struct Obstacle {
  std::string verb{};
  std::string subject{};
  std::string command{};  ///< or the holder's message, which says more
  std::string length{};
  bool is_run = false;  ///< a job has the lock, and will end by itself
};

std::string in_seconds(milliseconds time) {
  if (time >= std::chrono::minutes(1)) return for_people(time);
  return fmt::format("{} s", floor<seconds>(time).count());
}

Obstacle servers_missing(const lock::Waiting& state) {
  if (state.servers == 1 && !state.obstructed) return {.subject = "the server does not answer"};
  return {.subject = fmt::format("{} of {} servers {}, {} needed", state.answering, state.servers,
                                 state.obstructed ? "can grant it" : "answer",
                                 lock::quorum(state.servers))};
}

Obstacle somebody(const WaitFacts& facts) {
  const lock::Refused& refusal = *facts.state.refusal;
  const Blocker blocker(refusal);
  const auto& holder = blocker.holder;
  Obstacle obstacle;
  obstacle.verb = blocker.verb;
  obstacle.subject = holder ? person(*holder) : std::string(blocker.nobody);
  if (holder && !holder->message.empty()) {
    obstacle.command = message_of(*holder);
  } else if (holder && !blocker.maintenance) {
    obstacle.command = command_of(*holder);
  }
  if (blocker.kind == Kind::revoked && !blocker.maintenance) {
    const bool unattended = holder && holder->unattended;
    obstacle.length = unattended ? ", and nobody renews it" : ", whose job is being stopped";
  } else if ((blocker.kind == Kind::cooling || blocker.maintenance) && refusal.ttl_left) {
    const auto left = ceil<seconds>(*refusal.ttl_left - facts.refusal_age);
    obstacle.length = ", free in " + in_seconds(std::max(left, seconds(0)));
  } else if (blocker.kind != Kind::cooling && holder && holder->since > milliseconds(0) &&
             holder->since <= facts.unix_time) {
    obstacle.length = " for " + in_seconds(facts.unix_time - holder->since);
  }
  obstacle.is_run = blocker.kind == Kind::token && holder && !blocker.maintenance;
  return obstacle;
}

Obstacle obstacle_of(const WaitFacts& facts) {
  const lock::Waiting& state = facts.state;
  if (state.lacks_quorum) return servers_missing(state);
  if (state.asked && state.refusal) return somebody(facts);
  if (state.asked) return {.subject = "several processes want it at once"};
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

/// Empty if the place is unknown. Without a quorum of servers the queue is no news.
std::string place_text(const WaitFacts& facts, std::string_view before) {
  if (!facts.place || facts.state.lacks_quorum) return {};
  const WaitFacts::Place& at = *facts.place;
  if (at.length == 1) return std::string(before) + "next";
  return fmt::format("{}{} of {}", before, ordinal(at.place), at.length);
}

std::string time_text(const WaitFacts& facts) {
  const std::string waited = as_clock(floor<seconds>(facts.waited));
  return facts.limit ? waited + " of " + as_clock(ceil<seconds>(*facts.limit)) : waited;
}

/// What a line says; each row says less than the one before.
struct Detail {
  enum class Usual { none, brief, whole };
  bool command;
  bool length;
  Usual usual;
  bool verb;
  std::string_view before_place;
  std::string_view before_time;
  bool limit;
};

constexpr std::string_view kYouAre = "you are ";
constexpr std::string_view kWaited = "waited ";
constexpr auto kWhole = Detail::Usual::whole;
constexpr auto kBrief = Detail::Usual::brief;
constexpr auto kNoUsual = Detail::Usual::none;
constexpr std::array kDetails = {
    Detail{true, true, kWhole, true, kYouAre, kWaited, true},
    Detail{true, true, kWhole, true, "", kWaited, true},
    Detail{true, true, kBrief, true, "", kWaited, true},
    Detail{false, true, kBrief, true, kYouAre, kWaited, true},
    Detail{false, true, kBrief, true, "", kWaited, true},
    Detail{false, true, kBrief, true, "", "", true},
    Detail{false, true, kNoUsual, true, kYouAre, kWaited, true},
    Detail{false, true, kNoUsual, true, "", kWaited, true},
    Detail{false, false, kNoUsual, true, "", kWaited, true},
    Detail{false, false, kNoUsual, true, "", "", true},
    Detail{false, false, kNoUsual, false, "", "", true},
    Detail{false, false, kNoUsual, false, "", "", false},
};

/// A terminal shows the bare name as a heading, for want of room; a log gets a sentence.
enum class Style { heading, sentence };

class Composer {
 public:
  Composer(const WaitFacts& facts, Style style, std::string_view separator, Charset charset)
      : facts_(facts),
        lock_(style == Style::sentence ? lock_name(facts.lock) : bare_name(facts.lock)),
        obstacle_(obstacle_of(facts)),
        style_(style),
        separator_(separator) {
    if (charset == Charset::utf8) return;
    for (std::string* text : {&lock_, &obstacle_.subject, &obstacle_.command}) {
      *text = os::to_ascii(*text);
    }
  }

  /// `command`: the command of the holder, or as much of it as fits.
  [[nodiscard]] std::string line(const Detail& detail, std::string_view command) const {
    return head(detail, command) + tail(detail);
  }

  [[nodiscard]] std::string head(const Detail& detail, std::string_view command) const {
    const bool verb = detail.verb && !obstacle_.verb.empty();
    std::string text = lock_ + (verb && style_ == Style::sentence ? " is " : ": ");
    if (verb) text += obstacle_.verb;
    text += obstacle_.subject;
    if (detail.command && !command.empty()) text.append(" (").append(command).append(")");
    if (detail.length) text += obstacle_.length;
    return text + usual(detail.usual);
  }

  [[nodiscard]] bool knows_usual() const { return facts_.usual && obstacle_.is_run; }

  [[nodiscard]] std::string usual(Detail::Usual detail) const {
    if (!knows_usual() || detail == Detail::Usual::none) return {};
    return detail == Detail::Usual::brief ? ", usually " + range_of(*facts_.usual)
                                          : std::string(separator_) + describe(*facts_.usual);
  }

  [[nodiscard]] std::string tail(const Detail& detail) const {
    std::string text;
    if (const std::string place = place_text(facts_, detail.before_place); !place.empty()) {
      text.append(separator_).append(place);
    }
    const std::string time =
        detail.limit ? time_text(facts_) : as_clock(floor<seconds>(facts_.waited));
    return text.append(separator_).append(detail.before_time).append(time);
  }

  [[nodiscard]] const std::string& command() const { return obstacle_.command; }

 private:
  const WaitFacts& facts_;
  std::string lock_;
  Obstacle obstacle_;
  Style style_;
  std::string_view separator_;
};

std::string fit(const Composer& composer, std::size_t width, Charset charset) {
  for (const Detail& detail : kDetails) {
    if (detail.usual == kBrief && !composer.knows_usual()) continue;
    std::string line = composer.line(detail, composer.command());
    const std::size_t length = columns(line);
    if (length <= width) return line;
    if (!detail.command || detail.before_place == kYouAre || composer.command().empty()) continue;
    const std::size_t excess = length - width;
    const std::size_t whole = columns(composer.command());
    if (whole < excess + kLeastCommand) continue;
    return composer.line(detail, cut(composer.command(), whole - excess, charset));
  }
  // The time shows that something still goes on, so it stays.
  const Detail& least = kDetails.back();
  const std::string tail = composer.tail(least);
  const std::string head = composer.head(least, {});
  const std::size_t reserved = columns(tail);
  if (reserved + kLeastCommand > width) return cut(head + tail, width, charset);
  return cut(head, width - reserved, charset) + tail;
}

}  // namespace

std::string as_clock(seconds time) {
  const auto whole = time.count();
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string live_line(const WaitFacts& facts, std::size_t width, Charset charset) {
  const std::string_view separator = charset == Charset::utf8 ? " \u00b7 " : ", ";
  return fit(Composer(facts, Style::heading, separator, charset), width, charset);
}

std::string plain_line(const WaitFacts& facts) {
  const Composer composer(facts, Style::sentence, ", ", Charset::utf8);
  return composer.line(kDetails.front(), composer.command());
}

}  // namespace redlock::diag
