// SPDX-License-Identifier: MIT
#include "redis/requests/answer.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

// A longer time is cut to this one: the state machine adds times to instants, in nanoseconds.
constexpr std::chrono::milliseconds kMostTime = std::chrono::hours(24 * 3650);

bool is_string(const Value& value) {
  return value.type == Value::Type::string;
}

/// A server's time of day. An impossible time becomes 0, since the caller adds it to others.
std::optional<std::chrono::milliseconds> read_clock(const Value& value) {
  constexpr std::uint64_t kYear2500 = 16'725'225'600'000;
  const auto number = read_number(value);
  if (!number) return std::nullopt;
  return std::chrono::milliseconds(*number > kYear2500 ? 0 : *number);
}

std::optional<std::size_t> read_count(const Value& value) {
  if (value.type != Value::Type::integer || value.integer < 0) return std::nullopt;
  return static_cast<std::size_t>(value.integer);
}

std::optional<lock::Refused> read_refused(const Value& reply) {
  if (reply.elements.size() < 5) return std::nullopt;
  const Value& blocker = reply.elements[1];
  const Value& left = reply.elements[2];
  const Value& holder = reply.elements[3];
  const auto clock = read_clock(reply.elements[4]);
  if (!is_string(blocker) || left.type != Value::Type::integer || !is_string(holder) || !clock) {
    return std::nullopt;
  }
  lock::Refused refused{blocker.text, std::nullopt, holder.text, *clock};
  // -1: it never expires; -2: it just did
  if (left.integer != -1) refused.ttl_left = read_length(left);
  return refused;
}

/// The refusal of an acquire also says where we stand in the queue.
std::optional<lock::Answer> read_refused_in_queue(const Value& reply, bool turn) {
  const bool slots = reply.elements.size() == 9 && is_string(reply.elements[8]);
  if (reply.elements.size() != 8 && !slots) return std::nullopt;
  auto refused = read_refused(reply);
  const auto ticket = read_number(reply.elements[5]);
  const auto place = read_count(reply.elements[6]);
  const auto waiters = read_count(reply.elements[7]);
  if (!refused || !ticket || !place || !waiters) return std::nullopt;
  refused->turn = turn;
  if (slots) refused->slots = reply.elements[8].text;
  refused->ticket = *ticket;
  refused->place = *place;
  refused->waiters = *waiters;
  return std::move(*refused);
}

/// How long we still distrust a server that is up for `uptime`. One second more than the grace, as
/// Redis rounds its uptime.
std::chrono::seconds distrusted_for(const LockContext& context, std::chrono::seconds uptime) {
  if (context.restart_grace == std::chrono::seconds::zero()) return context.restart_grace;
  const std::chrono::seconds trusted_from = context.restart_grace + std::chrono::seconds(1);
  return std::max(trusted_from - uptime, std::chrono::seconds::zero());
}

std::optional<std::chrono::seconds> read_uptime(const Value& value) {
  constexpr std::int64_t kMost = 100LL * 365 * 24 * 3600;
  if (value.type != Value::Type::integer) return std::nullopt;
  return std::chrono::seconds(std::clamp<std::int64_t>(value.integer, 0, kMost));
}

std::optional<lock::Answer> read_commit(std::string_view word, const Value& reply) {
  if (word == "committed" && reply.elements.size() == 1) return lock::Committed{};
  if (word != "not_committed" || reply.elements.size() != 2) return std::nullopt;
  const auto last = read_number(reply.elements[1]);
  if (!last) return std::nullopt;
  return lock::NotCommitted{*last};
}

std::optional<lock::Answer> read_granted(const LockContext& context, const Value& reply) {
  if (reply.elements.size() != 6) return std::nullopt;
  const Value& run_id = reply.elements[1];
  const auto uptime = read_uptime(reply.elements[2]);
  const Value& trace = reply.elements[3];
  const Value& fence = reply.elements[4];
  if (!is_string(run_id) || !uptime || !is_string(trace)) return std::nullopt;
  const auto number = read_number(fence);
  const auto clock = read_clock(reply.elements[5]);
  if (!number || !clock) return std::nullopt;
  lock::Granted granted{.run_id = run_id.text, .fence = *number, .clock = *clock};
  // Without a run_id (no permission for INFO) the server's age is unknown.
  if (!run_id.text.empty()) granted.distrusted_for = distrusted_for(context, *uptime);
  granted.may_be_new =
      trace.text == "none" || (trace.text == "present" && *uptime < 2 * context.restart_grace);
  return granted;
}

std::optional<lock::Answer> read_acquire(const LockContext& context, std::string_view word,
                                         const Value& reply) {
  if (word == "granted") return read_granted(context, reply);
  if (word == "refused" || word == "turn") return read_refused_in_queue(reply, word == "turn");
  if (word == "done") {
    if (const auto done = read_done(reply)) return *done;
  }
  if (word == "fresh" && reply.elements.size() == 2) {
    const auto uptime = read_uptime(reply.elements[1]);
    if (uptime) return restarted(*uptime, distrusted_for(context, *uptime));
  }
  if (word == "replica" && reply.elements.size() == 2 && is_string(reply.elements[1])) {
    return replica_of(reply.elements[1].text);
  }
  if (word == "unusable" && reply.elements.size() == 2 && is_string(reply.elements[1])) {
    return unusable_fence(context.fence_key, reply.elements[1].text);
  }
  return std::nullopt;
}

std::optional<lock::Answer> read_repair(std::string_view word, const Value& reply) {
  if (word == "granted" && reply.elements.size() == 1) return lock::Granted{};
  if (word == "released") return lock::Released{};
  if (word != "refused") return std::nullopt;
  if (auto refused = read_refused(reply)) return std::move(*refused);
  return std::nullopt;
}

std::optional<lock::Answer> read_other(lock::Op op, std::string_view word, const Value& reply) {
  if (op == lock::Op::renew && word == "renewed") return lock::Renewed{};
  if (op == lock::Op::mark && word == "marked") return lock::Marked{};
  if (op == lock::Op::unmark && word == "released") return lock::Released{};
  if (lock::is_release(op) && word == "released") return lock::Released{};
  if (op == lock::Op::inquire && word == "released") return lock::Released{};
  if (op == lock::Op::leave_queue && (word == "held" || word == "free")) return lock::Released{};
  if (op == lock::Op::leave && word == "cooling") return lock::Released{.cooling = true};
  if (op == lock::Op::leave && word == "kept") return lock::Released{.kept = true};
  if (word == "missing") return lock::Missing{};
  if (word == "not_mine" && reply.elements.size() == 2 && is_string(reply.elements[1])) {
    return lock::NotMine{reply.elements[1].text};
  }
  return std::nullopt;
}

std::optional<lock::Answer> read(lock::Op op, const LockContext& context, std::string_view word,
                                 const Value& reply) {
  if (op == lock::Op::acquire) return read_acquire(context, word, reply);
  if (op == lock::Op::commit) return read_commit(word, reply);
  if (op == lock::Op::repair) return read_repair(word, reply);
  return read_other(op, word, reply);
}

}  // namespace

std::optional<std::uint64_t> read_number(const Value& value) {
  return value.type == Value::Type::string ? read_number(value.text) : std::nullopt;
}

std::optional<std::uint64_t> read_number(std::string_view text) {
  constexpr std::uint64_t kMost = 1ULL << 53U;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number > kMost) return std::nullopt;
  return number;
}

std::chrono::milliseconds read_length(const Value& value) {
  return std::chrono::milliseconds(std::clamp<std::int64_t>(value.integer, 0, kMostTime.count()));
}

std::optional<lock::Done> read_done(const Value& reply) {
  using enum Value::Type;
  if (reply.elements.size() != 4) return std::nullopt;
  const Value& age = reply.elements[1];
  const Value& left = reply.elements[2];
  const Value& who = reply.elements[3];
  if (age.type != integer || left.type != integer || who.type != string) return std::nullopt;
  return lock::Done{read_length(age), read_length(left), who.text};
}

lock::Answer read_answer(lock::Op op, const LockContext& context, const Value& reply) {
  if (reply.type == Value::Type::array && !reply.elements.empty() &&
      is_string(reply.elements.front())) {
    const std::string_view word = reply.elements.front().text;
    if (const auto answer = read(op, context, word, reply)) return *answer;
  }
  return unexpected_reply(reply);
}

lock::Answer read_waited(lock::Answer answer, const Value& waited, unsigned replicas) {
  const bool counts = std::holds_alternative<lock::Granted>(answer) ||
                      std::holds_alternative<lock::Renewed>(answer) ||
                      std::holds_alternative<lock::Committed>(answer);
  if (!counts) return answer;
  if (waited.type != Value::Type::integer) return unexpected_reply(waited);
  if (waited.integer >= static_cast<std::int64_t>(replicas)) return answer;
  return too_few_replicas(waited.integer, replicas);
}

}  // namespace redlock::redis
