// SPDX-License-Identifier: MIT
#include "redis/inspection/log_reader.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "redis/requests/keys.h"
#include "redis/requests/scripts.h"
#include "redis/wire/trouble.h"
#include "redis/wire/untrusted.h"

namespace redlock::redis {
namespace {

using std::chrono::milliseconds;

/// Lines of a page: even the longest ones stay far below the limit of one reply.
constexpr std::size_t kPage = 100;
/// Of Extent::latest.
constexpr std::size_t kShortPage = 40;
/// The maximum of --log-entries, and one block that the server has not dropped yet.
constexpr std::size_t kMostLines = 110'000;
/// history.lua never returns a longer field.
constexpr std::size_t kMostOfPart = 2048;

/// The whole text as a number from 0 to `most`.
std::optional<std::uint64_t> number(std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value > most) return std::nullopt;
  return value;
}

/// "1526919030474-55": the time of an ID, none if this is not an ID.
std::optional<milliseconds> time_of(std::string_view id) {
  constexpr std::uint64_t kYear2500 = 16'725'225'600'000;
  const std::size_t dash = id.find('-');
  if (dash == std::string_view::npos || !number(id.substr(dash + 1), ~std::uint64_t{0})) {
    return std::nullopt;
  }
  const auto time = number(id.substr(0, dash), kYear2500);
  if (!time) return std::nullopt;
  return milliseconds(*time);
}

}  // namespace

LogReader::LogReader(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts)
    : endpoint_(endpoint), tls_(tls), timeouts_(timeouts), budget_(timeouts.request) {}

void LogReader::read(const std::string& lock_key, lock::Instant now, Extent extent) {
  if (trouble_) return;
  // In a Cluster the next lock may be on another node.
  if (!link_ || endpoint_.kind == Endpoint::Kind::cluster) {
    link_.emplace(endpoint_, tls_, timeouts_, lock_key);
  }
  log_key_ = helper_key(lock_key, "log");
  extent_ = extent;
  lines_.clear();
  bytes_ = 0;
  overflowed_ = false;
  next_ = "+";
  finished_ = false;
  budget_.begin(now);
  ask(now);
}

void LogReader::ask(lock::Instant now) {
  // One line more than a page: the first line is known already, except on the first page. (Only
  // since Redis 6.2 can a request exclude an ID.)
  const std::size_t lines = extent_ == Extent::latest ? kShortPage : kPage + 1;
  link_->ask(
      {},
      {encode_command({"EVAL", scripts::history, "1", log_key_, next_, std::to_string(lines)}), 1},
      now);
}

void LogReader::turn(lock::Instant now) {
  for (Link::Arrival& arrival : link_->turn(now)) {
    if (finished_) return;  // the answer came too late
    if (auto* trouble = std::get_if<lock::Unreachable>(&arrival.content)) {
      trouble_ = std::move(*trouble);
      finished_ = true;
    } else {
      take(std::get<Value>(arrival.content), now);
    }
  }
}

void LogReader::take(const Value& reply, lock::Instant now) {
  const std::vector<Value>& part = reply.elements;
  finished_ = true;
  if (part.size() == 2 && part[0].text == "replica") {
    trouble_ = replica_of(part[1].text);
    return;
  }
  if (reply.type == Value::Type::error && reply.text.find("WRONGTYPE") != std::string::npos) {
    trouble_ =
        lock::Unreachable{.why = "its key \"" + untrusted(log_key_) + "\" is not a log; delete it"};
    return;
  }
  if (part.empty() || part[0].text != "log") {
    trouble_ = unexpected_reply(reply);
    return;
  }
  const std::string before = next_;
  for (std::size_t index = 1; index < part.size(); ++index) {
    // The last line of the previous page begins this one. No other line comes twice.
    const bool known = index == 1 && !lines_.empty();
    if (!take_line(part[index], known)) {
      trouble_ = unexpected_reply(reply);
      return;
    }
  }
  if (extent_ == Extent::latest || part.size() < kPage + 2 || next_ == before) return;
  overflowed_ = lines_.size() > kMostLines;
  if (overflowed_) return;
  if (const auto too_much = budget_.spend(std::exchange(bytes_, 0), now)) {
    trouble_ = lock::Unreachable{.why = *too_much};
    return;
  }
  finished_ = false;
  ask(now);
}

/// False if the value is not a line.
bool LogReader::take_line(const Value& value, bool known) {
  const std::vector<Value>& part = value.elements;
  const bool texts = part.size() == 5 && std::ranges::all_of(part, [](const Value& one) {
                       return one.type == Value::Type::string && one.text.size() <= kMostOfPart;
                     });
  const auto time = texts ? time_of(part[0].text) : std::nullopt;
  if (!time) return false;
  if (part[0].text == next_) return known;
  constexpr std::uint64_t kMostCount = 1'000'000'000;
  next_ = part[0].text;
  for (const Value& one : part) bytes_ += one.text.size();
  lines_.push_back({.time = *time,
                    .event = part[1].text,
                    .run = part[2].text,
                    .data = part[3].text,
                    .count = static_cast<unsigned>(number(part[4].text, kMostCount).value_or(1))});
  return true;
}

}  // namespace redlock::redis
