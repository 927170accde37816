// SPDX-License-Identifier: MIT
#include "redis/inspection/node_observer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lock/token.h"
#include "lock/value.h"
#include "redis/requests/keys.h"
#include "redis/requests/scripts.h"
#include "redis/wire/reading.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

/// The number of requests on their way at a time: enough to save round trips, too few to burden a
/// server.
constexpr std::size_t kWindow = 16;
/// Buckets that a server scans in one step: far below a millisecond's work.
constexpr std::string_view kStep = "500";
/// How many kinds of questions there are.
constexpr std::uint32_t kQuestions = 4;
/// A server that names more locks than this is not believed.
constexpr std::size_t kMostLocks = 100'000;

// look.lua never returns longer fields.
constexpr std::size_t kMostOfValue = 1024;
constexpr std::size_t kMostOfHolder = 8192;
constexpr std::size_t kMostOfWord = 80;
constexpr std::size_t kMostReaders = 100;
/// A server that counts more readers than this is not believed.
constexpr std::int64_t kMostReaderCount = 1'000'000;

/// The bytes of text in a value.
std::size_t size_of(const Value& value) {
  std::size_t size = value.text.size();
  for (const Value& element : value.elements) size += size_of(element);
  return size;
}

/// A question about the `index`-th lock. It belongs to no attempt to take one.
lock::Ask label(std::uint32_t question, std::size_t index = 0) {
  return {.attempt = lock::kNoAttempt,
          .round = static_cast<std::uint32_t>(index) * kQuestions + question};
}

bool is(const Value& value, Value::Type type) {
  return value.type == type;
}

std::optional<lock::Reader> read_reader(const Value& reply) {
  using enum Value::Type;
  const std::vector<Value>& part = reply.elements;
  if (part.size() != 5 ||
      !std::ranges::all_of(part, [](const Value& each) { return is(each, string); })) {
    return std::nullopt;
  }
  const auto left = read_number(part[1]);
  if (!lock::is_token(part[0].text) || !left || part[2].text.size() > kMostOfHolder ||
      part[4].text.size() > kMostOfWord) {
    return std::nullopt;
  }
  constexpr std::uint64_t kMost = 100ULL * 365 * 24 * 3600 * 1000;  // more comes from a wrong clock
  return lock::Reader{part[0].text, std::chrono::milliseconds(std::min(*left, kMost)), part[2].text,
                      read_number(part[3]).value_or(0), part[4].text};
}

std::optional<lock::Sighting> read_sighting(const std::vector<Value>& part) {
  using enum Value::Type;
  const bool fits = part.size() == 12 && is(part[1], string) && is(part[2], string) &&
                    is(part[3], integer) && is(part[4], string) && is(part[5], string) &&
                    is(part[6], integer) && is(part[7], string) && is(part[8], integer) &&
                    is(part[9], string) && is(part[10], array) && is(part[11], integer);
  if (!fits || part[1].text.size() > kMostOfWord || part[2].text.size() > kMostOfValue ||
      part[4].text.size() > kMostOfHolder || part[7].text.size() > kMostOfWord ||
      part[9].text.size() > kMostOfWord) {
    return std::nullopt;
  }
  const std::string& type = part[1].text;
  using Kind = lock::Sighting::Kind;
  lock::Sighting sighting{.kind = type == "none"     ? Kind::nothing
                                  : type == "string" ? Kind::value
                                                     : Kind::other,
                          .value = type == "string" ? part[2].text : lock::stand_in_for(type),
                          .ttl_left = std::nullopt,
                          .holder = part[4].text,
                          // Another program may have written the key.
                          .fence = read_number(part[5]).value_or(0),
                          .holds = 0,
                          .owner = part[7].text,
                          .count = part[8].integer,
                          .run = part[9].text};
  constexpr std::int64_t kMostHolds = 10'000;
  sighting.holds = static_cast<unsigned>(std::clamp<std::int64_t>(part[6].integer, 0, kMostHolds));
  for (const Value& reader : part[10].elements) {
    if (auto known = read_reader(reader)) sighting.readers.push_back(std::move(*known));
    if (sighting.readers.size() == kMostReaders) break;
  }
  const auto listed = static_cast<std::int64_t>(sighting.readers.size());
  sighting.reader_count =
      static_cast<std::size_t>(std::clamp(part[11].integer, listed, kMostReaderCount));
  if (part[3].integer != -1) sighting.ttl_left = read_length(part[3]);
  return sighting;
}

lock::Seen read_seen(const Value& reply) {
  const std::vector<Value>& part = reply.elements;
  if (is(reply, Value::Type::array) && !part.empty()) {
    if (part[0].text == "seen") {
      if (auto sighting = read_sighting(part)) return std::move(*sighting);
    }
    if (part[0].text == "replica" && part.size() == 2) return replica_of(part[1].text);
  }
  return unexpected_reply(reply);
}

/// A user that may not read the mark, or finds none, gets none.
std::optional<lock::Done> read_mark(const Value& reply) {
  if (!is(reply, Value::Type::array) || reply.elements.empty()) return std::nullopt;
  return reply.elements[0].text == "done" ? read_done(reply) : std::nullopt;
}

}  // namespace

NodeObserver::NodeObserver(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
                           std::string key, Named named)
    : named_(named), link_(endpoint, tls, timeouts, std::move(key)), budget_(timeouts.request) {}

void NodeObserver::scan(std::string_view part, lock::Instant now) {
  finished_ = false;
  part_ = part;
  budget_.begin(now);
  cursor_ = "0";
  ask_scan(now);
}

void NodeObserver::ask_scan(lock::Instant now) {
  link_.ask(label(static_cast<std::uint32_t>(Question::scan)),
            {encode_command({"SCAN", cursor_, "MATCH", helper_pattern(part_), "COUNT", kStep}), 1},
            now);
}

void NodeObserver::look(std::vector<std::string> keys, Marks marks, std::string reader,
                        lock::Instant now) {
  keys_ = std::move(keys);
  reader_ = std::move(reader);
  marks_ = marks;
  observations_.assign(keys_.size(),
                       {trouble_.value_or(lock::Unreachable{}), std::nullopt, std::nullopt});
  asked_ = 0;
  budget_.begin(now);
  finished_ = trouble_ || keys_.empty();
  if (!finished_) ask_more(now);
}

void NodeObserver::ask_more(lock::Instant now) {
  while (asked_ < keys_.size() && unanswered_ < kWindow) {
    const std::string& key = keys_[asked_];
    const auto ask = [&](Question question, std::string wire) {
      ++unanswered_;
      link_.ask(label(static_cast<std::uint32_t>(question), asked_), {std::move(wire), 1}, now);
    };
    ask(Question::lock, encode_command({"EVAL", scripts::look, "2", key, helper_key(key, "holder"),
                                        helper_key(key, "readers"), reader_}));
    ask(Question::waiting, encode_waiting(key));
    if (marks_ == Marks::asked) {
      ask(Question::mark, encode_command({"EVAL", scripts::done, "1", helper_key(key, "done")}));
    }
    ++asked_;
  }
}

void NodeObserver::turn(lock::Instant now) {
  for (Link::Arrival& arrival : link_.turn(now)) {
    if (finished_) return;  // the answer came too late
    if (const auto* trouble = std::get_if<lock::Unreachable>(&arrival.content)) {
      give_up(*trouble);
    } else {
      take(static_cast<Question>(arrival.ask.round % kQuestions), arrival.ask.round / kQuestions,
           std::get<Value>(arrival.content), now);
    }
  }
}

void NodeObserver::take(Question question, std::size_t index, const Value& reply,
                        lock::Instant now) {
  if (question == Question::scan) return take_scan(reply, now);
  --unanswered_;
  if (question == Question::lock) {
    const bool moved = named_ == Named::by_map && is_redirection(reply);
    observations_[index].seen = moved ? slot_has_moved() : read_seen(reply);
  } else if (question == Question::waiting) {
    observations_[index].queue = read_waiting(reply);
  } else {
    observations_[index].done = read_mark(reply);
  }
  // With one lock there is nothing to leave out.
  const auto too_much = budget_.spend(size_of(reply), now);
  if (too_much && keys_.size() > 1) return cut_off(*too_much);
  ask_more(now);
  finished_ = unanswered_ == 0;
}

void NodeObserver::take_scan(const Value& reply, lock::Instant now) {
  const std::vector<Value>& part = reply.elements;
  if (part.size() != 2 || !is(part[0], Value::Type::string) || !is(part[1], Value::Type::array)) {
    return give_up(unexpected_reply(reply));
  }
  for (const Value& helper : part[1].elements) {
    if (auto key = key_of_helper(helper.text, part_)) found_.insert(std::move(*key));
  }
  const bool in_circles = part[0].text == cursor_;
  cursor_ = part[0].text;
  if (cursor_ == "0") {
    finished_ = true;
  } else if (found_.size() > kMostLocks) {
    cut_off("names more than " + std::to_string(kMostLocks) + " locks; the rest is left out");
  } else if (in_circles) {
    cut_off("repeats the same page of locks (SCAN), so some locks may be missing");
  } else if (const auto too_much = budget_.spend(size_of(reply), now)) {
    cut_off(*too_much);
  } else {
    ask_scan(now);
  }
}

void NodeObserver::give_up(const lock::Unreachable& why) {
  trouble_ = why;
  finish_with(why);
}

void NodeObserver::cut_off(const std::string& why) {
  cut_ = why;
  finish_with({.why = why});
}

/// Locks without an answer get the reason; the others keep their answer.
void NodeObserver::finish_with(const lock::Unreachable& why) {
  for (Observation& observation : observations_) {
    auto* none = std::get_if<lock::Unreachable>(&observation.seen);
    if (none != nullptr && none->why.empty()) *none = why;
  }
  finished_ = true;
}

}  // namespace redlock::redis
