// SPDX-License-Identifier: MIT
#include "diag/holder.h"

#include <fmt/format.h>

#include <algorithm>

#include "diag/json.h"
#include "diag/json_fields.h"
#include "diag/revocation.h"
#include "lock/value.h"

namespace redlock::diag {

namespace {

/// "root@web1 (pid 4711, ./backup.sh)"
std::string person(const Holder& holder) {
  const std::string command = printable(holder.command, kMostCommandBytes);
  return fmt::format("{}@{} (pid {}{}{})", printable(holder.user, 64), printable(holder.host, 64),
                     holder.pid, command.empty() ? "" : ", ", command);
}

/// As a shell would read it.
std::string as_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "%+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
      "abcdefghijklmnopqrstuvwxyz";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      quoted += R"('\'')";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::chrono::milliseconds unix_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace

std::string to_json(const Holder& holder) {
  JsonRecord json;
  json.add("command", holder.command);
  json.add("host", holder.host);
  json.add("pid", holder.pid);
  json.add("protocol", holder.protocol);
  json.add("servers", holder.servers);
  json.add("since", holder.since.count());
  json.add("ttl", holder.ttl.count());
  json.add("user", holder.user);
  return json.object();
}

Holder since_now(Holder holder) {
  holder.since = unix_now();
  return holder;
}

std::optional<Holder> read_holder(std::string_view json) {
  const auto object = JsonFields::read(json);
  if (!object) return std::nullopt;
  return Holder{.host = object->text("host"),
                .user = object->text("user"),
                .pid = object->number("pid").value_or(0),
                .command = object->text("command"),
                .since = object->time("since").value_or(std::chrono::milliseconds::zero()),
                .ttl = object->time("ttl").value_or(std::chrono::milliseconds::zero()),
                .servers = object->text("servers"),
                .protocol = object->number("protocol").value_or(0)};
}

std::optional<std::chrono::milliseconds> ago(std::chrono::milliseconds unix_time) {
  const std::chrono::milliseconds now = unix_now();
  if (unix_time.count() <= 0 || unix_time >= now) return std::nullopt;
  return now - unix_time;
}

std::string shell_like(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    line += as_word(word);
    if (line.size() > kMostCommandBytes) return std::string(clip(line, kMostCommandBytes)) + "...";
  }
  return line;
}

std::string for_people(std::chrono::nanoseconds length) {
  using namespace std::chrono;
  // What three digits would round up to the next unit is told in that one.
  constexpr nanoseconds almost_second = microseconds(999'500);
  constexpr nanoseconds almost_minute = milliseconds(59'950);
  if (length < almost_second) {
    return fmt::format("{:.3g} ms", std::max(duration<double, std::milli>(length).count(), 0.0));
  }
  if (length < almost_minute) return fmt::format("{:.3g} s", duration<double>(length).count());
  const auto whole = std::max(duration_cast<seconds>(length), seconds(60)).count();
  if (whole < 3600) return fmt::format("{}m {}s", whole / 60, whole % 60);
  return fmt::format("{}h {}m", whole / 3600, whole % 3600 / 60);
}

std::string round_for_people(std::chrono::nanoseconds length) {
  std::string text = for_people(length);
  if (text.ends_with(" 0s") || text.ends_with(" 0m")) text.resize(text.size() - 3);
  return text;
}

std::string name_blocker(const lock::Refused& refusal) {
  using Kind = lock::Value::Kind;
  const Kind kind = lock::read_value(refusal.blocker).kind;
  const bool cooling = kind == Kind::cooling;
  const bool revoked = kind == Kind::revoked;
  const auto by = read_revocation(refusal.blocker);
  const std::string verb = cooling   ? "cooling down after "
                           : by      ? "revoked by " + describe(*by) + " from "
                           : revoked ? "revoked from "
                                     : "held by ";
  if (const auto holder = read_holder(refusal.holder)) return verb + person(*holder);
  if (const auto type = lock::type_of(refusal.blocker)) {
    return verb + fmt::format("a key of another program (a Redis {}, not a lock of redlock's)",
                              printable(*type, 20));
  }
  return verb + (cooling   ? "a run (which says nothing about itself)"
                 : revoked ? "its holder (who says nothing about itself)"
                           : "another program (its key says nothing about itself)");
}

std::string describe(const lock::Refused& refusal) {
  using Kind = lock::Value::Kind;
  const Kind kind = lock::read_value(refusal.blocker).kind;
  const bool cooling = kind == Kind::cooling;
  const bool revoked = kind == Kind::revoked;
  std::string who = name_blocker(refusal);
  if (const auto holder = read_holder(refusal.holder)) {
    if (revoked) {
      who += ", whose job is being stopped";
    } else if (const auto length = ago(holder->since)) {
      who += (cooling ? ", begun " : " for ") + for_people(*length);
      who += cooling ? " ago" : "";
    }
  }
  if (!refusal.ttl_left) {
    who += "; it never expires by itself";
  } else {
    who += cooling   ? "; free in "
           : revoked ? "; free at the latest in "
                     : "; unless renewed it expires in ";
    who += for_people(*refusal.ttl_left);
  }
  return who;
}

std::string describe(const lock::Done& done) {
  const auto holder = read_holder(done.who);
  return fmt::format("done by {}, begun {} ago", holder ? person(*holder) : std::string("somebody"),
                     for_people(done.age));
}

}  // namespace redlock::diag
