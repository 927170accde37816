// SPDX-License-Identifier: MIT
#include "observe/log_reader.h"

#include "redis/requests/answer.h"
#include "redis/requests/keys.h"
#include "redis/requests/scripts.h"
#include "redis/wire/trouble.h"

namespace redlock::observe {
namespace {

using std::chrono::milliseconds;

/// Lines of a page: even the longest ones stay far below the limit of one reply.
constexpr std::size_t kPage = 100;
/// The maximum of --log-entries, and one block that the server has not dropped yet.
constexpr std::size_t kMostLines = 110'000;

/// "1526919030474-55": the time of an ID, none if this is not an ID.
std::optional<milliseconds> time_of(std::string_view id) {
  constexpr std::uint64_t kYear2500 = 16'725'225'600'000;
  const std::size_t dash = id.find('-');
  if (dash == std::string_view::npos || !redis::read_number(id.substr(dash + 1)))
    return std::nullopt;
  const auto time = redis::read_number(id.substr(0, dash));
  if (!time || *time > kYear2500) return std::nullopt;
  return milliseconds(*time);
}

/// None: the reply is a page of the log.
std::optional<lock::Unreachable> why_not_read(const redis::Value& reply,
                                              const std::string& log_key) {
  const std::vector<redis::Value>& part = reply.elements;
  const std::string key = "its key \"" + redis::untrusted(log_key) + "\" ";
  if (redis::fits(reply, "ss") && part[0].text == "replica") return redis::replica_of(part[1].text);
  if (reply.type == redis::Value::Type::error &&
      reply.text.find("WRONGTYPE") != std::string::npos) {
    return lock::Unreachable{.why = key + "is not a log; delete it"};
  }
  if (part.size() == 3 && part[0].text == "long") {
    const bool long_lines = part[2].integer / 4096 > part[1].integer;
    return lock::Unreachable{
        .why = key + "has " + std::to_string(part[2].integer / 1'000'000) + " MB in " +
               std::to_string(part[1].integer) + " lines, " +
               (long_lines ? "which are longer than any of redlock's; delete it"
                           : "more than redlock reads; delete it, and keep fewer (--log-entries)")};
  }
  if (part.empty() || part[0].text != "log") return redis::unexpected_reply(reply);
  return std::nullopt;
}

}  // namespace

void LogReader::read(const std::string& lock_key, lock::Instant now) {
  if (trouble_) return;
  questions_.go_to(connection_, lock_key);
  log_key_ = redis::helper_key(lock_key, "log");
  lines_.clear();
  bytes_ = 0;
  overflowed_ = false;
  next_ = "+";
  ask(now);
}

void LogReader::ask(lock::Instant now) {
  // One line more than a page: the first line is known already, except on the first page. (Only
  // since Redis 6.2 can a request exclude an ID.)
  const auto on_answer = [this](const redis::Questions::Answer& answer, lock::Instant later) {
    if (const auto* silence = answer.silence()) {
      trouble_ = *silence;
    } else {
      take(answer.reply(), later);
    }
  };
  questions_.ask(connection_,
                 {{{&redis::scripts::history, {log_key_}, {next_, std::to_string(kPage + 1)}}}},
                 on_answer, now);
}

void LogReader::take(const redis::Value& reply, lock::Instant now) {
  trouble_ = why_not_read(reply, log_key_);
  if (trouble_) return;
  const std::vector<redis::Value>& part = reply.elements;
  for (std::size_t index = 1; index < part.size(); ++index) {
    // The last line of the previous page begins this one. No other line comes twice.
    const bool known = index == 1 && !lines_.empty();
    if (!take_line(part[index], known)) {
      trouble_ = redis::unexpected_reply(reply);
      return;
    }
  }
  if (part.size() < kPage + 2) return;
  overflowed_ = lines_.size() > kMostLines;
  if (overflowed_) return;
  if (const auto why = redis::too_much(bytes_)) {
    trouble_ = lock::Unreachable{.why = *why};
    return;
  }
  ask(now);
}

/// False if the value is not a line.
bool LogReader::take_line(const redis::Value& value, bool known) {
  const std::vector<redis::Value>& part = value.elements;
  const auto time = redis::fits(value, "ssssss") ? time_of(part[0].text) : std::nullopt;
  if (!time) return false;
  if (part[0].text == next_) return known;
  constexpr std::uint64_t kMostCount = 1'000'000'000;
  const std::uint64_t count = redis::read_number(part[4]).value_or(1);
  next_ = part[0].text;
  for (const redis::Value& one : part) bytes_ += one.text.size();
  // Redlock 1.0 wrote none, and without permission for TIME it is 0.
  const std::uint64_t own = redis::read_number(part[5]).value_or(0);
  lines_.push_back({.time = own == 0 ? *time : std::min(milliseconds(own), *time),
                    .event = part[1].text,
                    .run = part[2].text,
                    .data = part[3].text,
                    .count = static_cast<unsigned>(count > kMostCount ? 1 : count)});
  return true;
}

}  // namespace redlock::observe
