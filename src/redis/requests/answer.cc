// SPDX-License-Identifier: MIT
#include "redis/requests/answer.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "lock/value.h"
#include "os/printable.h"
#include "redis/requests/keys.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

// waiting.lua never returns more than this.
constexpr std::size_t kMostShown = 20;
constexpr std::int64_t kMostCounted = 1'000'000;
constexpr std::size_t kMostOfId = 64;
constexpr std::size_t kMostOfWho = 8192;

// A longer time is cut to this one: the state machine adds times to instants, in nanoseconds.
constexpr std::chrono::milliseconds kMostTime = std::chrono::hours(24 * 3650);

/// A server's time of day. An impossible time becomes 0, since the caller adds it to others.
std::optional<std::chrono::milliseconds> read_clock(const Value& value) {
  constexpr std::uint64_t kYear2500 = 16'725'225'600'000;
  const auto number = read_number(value);
  if (!number) return std::nullopt;
  return std::chrono::milliseconds(*number > kYear2500 ? 0 : *number);
}

/// {'refused', value, pttl, holder, clock, …}
std::optional<lock::Refused> read_refused(const std::vector<Value>& part) {
  const auto clock = read_clock(part[4]);
  if (!clock) return std::nullopt;
  lock::Refused refused{part[1].text, std::nullopt, part[3].text, *clock};
  // -1: it never expires; -2: it just did
  if (part[2].integer != -1) refused.ttl_left = read_length(part[2]);
  // In a text inside of the JSON, the quotation marks have backslashes.
  refused.maintenance = refused.holder.find("\"maintenance\":1") != std::string::npos;
  return refused;
}

/// The refusal of an acquire also says where we stand in the queue.
std::optional<lock::Answer> read_refused_in_queue(const Value& reply, bool turn) {
  const std::vector<Value>& part = reply.elements;
  const bool says_more = fits(reply, "ssisssiis");
  if (!says_more && !fits(reply, "ssisssii")) return std::nullopt;
  auto refused = read_refused(part);
  const auto ticket = read_number(part[5]);
  if (!refused || !ticket || part[6].integer < 0 || part[7].integer < 0) return std::nullopt;
  refused->turn = turn;
  if (says_more && lock::is_shared(refused->blocker)) {
    refused->waits_before = part[8].text;
  } else if (says_more) {
    refused->slots = part[8].text;
  }
  refused->ticket = *ticket;
  refused->place = static_cast<std::size_t>(part[6].integer);
  refused->waiters = static_cast<std::size_t>(part[7].integer);
  return std::move(*refused);
}

/// How long we still distrust a server that is up for `uptime`, which Redis rounds: hence 1 s more.
std::chrono::seconds distrusted_for(const LockContext& context, std::chrono::seconds uptime) {
  if (context.restart_grace == std::chrono::seconds::zero()) return context.restart_grace;
  const std::chrono::seconds trusted_from = context.restart_grace + std::chrono::seconds(1);
  return std::max(trusted_from - uptime, std::chrono::seconds::zero());
}

std::chrono::seconds read_uptime(const Value& value) {
  constexpr std::int64_t kMost = 100LL * 365 * 24 * 3600;
  return std::chrono::seconds(std::clamp<std::int64_t>(value.integer, 0, kMost));
}

std::optional<lock::Answer> read_commit(std::string_view word, const Value& reply) {
  if (word == "committed" && fits(reply, "s")) return lock::Committed{};
  if (word != "not_committed" || !fits(reply, "ss")) return std::nullopt;
  const auto last = read_number(reply.elements[1]);
  if (!last) return std::nullopt;
  return lock::NotCommitted{*last};
}

std::optional<lock::Answer> read_granted(const LockContext& context, const Value& reply) {
  if (!fits(reply, "ssisss")) return std::nullopt;
  const std::string& run_id = reply.elements[1].text;
  const std::chrono::seconds uptime = read_uptime(reply.elements[2]);
  const std::string& trace = reply.elements[3].text;
  const auto number = read_number(reply.elements[4]);
  const auto clock = read_clock(reply.elements[5]);
  if (!number || !clock) return std::nullopt;
  lock::Granted granted{.run_id = run_id, .fence = *number, .clock = *clock};
  // Without a run_id (no permission for INFO) the server's age is unknown.
  if (!run_id.empty()) granted.distrusted_for = distrusted_for(context, uptime);
  granted.may_be_new =
      trace == "none" || (trace == "present" && uptime < 2 * context.restart_grace);
  return granted;
}

/// `value`: what the server has as the fencing number, or "type:" and the type of its key.
lock::Unreachable unusable_fence(const LockContext& context, std::string_view value) {
  std::string what = '"' + untrusted(value) + '"';
  if (value.starts_with("type:")) {
    what = "a " + untrusted(value.substr(5));
  } else if (!value.empty() && value.find_first_not_of("0123456789") == value.npos) {
    what = untrusted(value) + ", far ahead of its clock";
  }
  return {false, true,
          "the fencing number in the key \"" + untrusted(context.fence_key) + "\" is not usable (" +
              what +
              "); delete that key there, and numbers go on from the server's clock (see THE "
              "FENCE in redlock-protocol(7))"};
}

std::optional<lock::Answer> read_acquire(const LockContext& context, std::string_view word,
                                         const Value& reply) {
  if (word == "granted") return read_granted(context, reply);
  if (word == "refused" || word == "turn") return read_refused_in_queue(reply, word == "turn");
  if (word == "done") {
    if (const auto done = read_done(reply)) return *done;
  }
  if (word == "superseded" && fits(reply, "ssis")) {
    const std::string& build = reply.elements[1].text;
    const auto number = build.empty() ? std::optional<std::uint64_t>(0) : read_number(build);
    if (number) {
      return lock::Superseded{*number, read_length(reply.elements[2]), reply.elements[3].text};
    }
  }
  if (word == "fresh" && fits(reply, "si")) {
    const std::chrono::seconds uptime = read_uptime(reply.elements[1]);
    return lock::Unreachable{
        .maybe_applied = false,
        .why = "was restarted " + std::to_string(uptime.count()) +
               " s ago and may have forgotten who holds the lock; trusted in " +
               std::to_string(distrusted_for(context, uptime).count()) +
               " s (see --restart-grace)"};
  }
  if (word == "replica" && fits(reply, "ss")) return replica_of(reply.elements[1].text);
  if (word == "unusable" && fits(reply, "ss")) {
    return unusable_fence(context, reply.elements[1].text);
  }
  return std::nullopt;
}

std::optional<lock::Answer> read_repair(std::string_view word, const Value& reply) {
  if (word == "granted" && fits(reply, "s")) return lock::Granted{};
  if (word == "released") return lock::Released{};
  if (word != "refused" || !fits(reply, "ssiss")) return std::nullopt;
  if (auto refused = read_refused(reply.elements)) return std::move(*refused);
  return std::nullopt;
}

std::optional<lock::Answer> read_other(lock::Op op, std::string_view word, const Value& reply) {
  if (op == lock::Op::renew && word == "renewed") return lock::Renewed{fits(reply, "si")};
  if (op == lock::Op::mark && word == "marked") return lock::Marked{};
  if (op == lock::Op::revoke && word == "revoked") {
    Taken taken = read_taken(reply);
    return lock::Revoked{std::move(taken.readers), taken.before};
  }
  const bool deletes = lock::is_release(op) || op == lock::Op::unmark;
  if ((deletes || op == lock::Op::inquire) && word == "released") return lock::Released{};
  if (op == lock::Op::leave_queue && (word == "held" || word == "free")) return lock::Released{};
  if (op == lock::Op::leave && word == "cooling") return lock::Released{.cooling = true};
  if (op == lock::Op::leave && word == "held") return lock::Released{.held = true};
  if (op == lock::Op::leave && word == "kept") return lock::Released{.kept = true};
  if (word == "missing") return lock::Missing{};
  if (word == "not_mine" && fits(reply, "ss")) return lock::NotMine{reply.elements[1].text};
  return std::nullopt;
}

std::optional<Waiter> read_waiter(const Value& entry) {
  const std::vector<Value>& part = entry.elements;
  const bool short_enough =
      fits(entry, "sss") && part[0].text.size() <= kMostOfId && part[2].text.size() <= kMostOfWho;
  const auto waited = short_enough ? read_number(part[1]) : std::nullopt;
  if (!waited) return std::nullopt;
  constexpr std::uint64_t kMost = 100ULL * 365 * 24 * 3600 * 1000;  // more comes from a wrong clock
  return Waiter{part[0].text, std::chrono::milliseconds(std::min(*waited, kMost)), part[2].text};
}

}  // namespace

bool fits(const Value& reply, std::string_view types) {
  return reply.type == Value::Type::array &&
         std::ranges::equal(reply.elements, types, [](const Value& element, char type) {
           using enum Value::Type;
           return element.type == (type == 's' ? string : type == 'i' ? integer : array);
         });
}

std::optional<std::uint64_t> read_number(const Value& value) {
  return value.type == Value::Type::string ? read_number(value.text) : std::nullopt;
}

std::optional<std::uint64_t> read_number(std::string_view text) {
  const auto number = os::whole_number<std::uint64_t>(text);
  return number <= 1ULL << 53U ? number : std::nullopt;
}

std::chrono::milliseconds read_length(const Value& value) {
  return std::chrono::milliseconds(std::clamp<std::int64_t>(value.integer, 0, kMostTime.count()));
}

std::optional<lock::Done> read_done(const Value& reply) {
  if (!fits(reply, "siis")) return std::nullopt;
  const std::vector<Value>& part = reply.elements;
  return lock::Done{read_length(part[1]), read_length(part[2]), part[3].text};
}

std::optional<lock::Superseded> read_built(const Value& reply) {
  if (!fits(reply, "siss")) return std::nullopt;
  const std::vector<Value>& part = reply.elements;
  const auto number = read_number(part[2]);
  if (!number) return std::nullopt;
  return lock::Superseded{*number, read_length(part[1]), part[3].text};
}

lock::Unreachable replica_of(std::string_view primary) {
  return {
      false, true,
      "is a replica and can give no vote; use the address of its primary, " + untrusted(primary)};
}

std::optional<lock::Duration> read_wake_up(std::string_view text) {
  constexpr std::string_view kCools = "cools ";
  constexpr std::uint64_t kMost = 366ULL * 24 * 3600 * 1000;
  if (text == "free" || text == kUnlocked) return lock::Duration::zero();
  if (text == "next") return std::chrono::milliseconds(500);
  if (!text.starts_with(kCools)) return std::nullopt;
  const auto left = read_number(text.substr(kCools.size()));
  if (!left) return std::nullopt;
  return std::chrono::milliseconds(std::min(*left, kMost) + 1);
}

std::vector<GivenUp> read_refusals(const Value& reply) {
  std::vector<GivenUp> refusals;
  const std::vector<Value>& part = reply.elements;
  if (part.empty() || part[0].text != "refusals") return refusals;
  for (std::size_t at = 1; at < part.size() && refusals.size() < 32; ++at) {
    const std::vector<Value>& one = part[at].elements;
    if (!fits(part[at], "siss") || one[1].integer < 1 || one[0].text.size() > 64 ||
        one[3].text.size() > 2048) {
      continue;
    }
    const auto ago = read_number(one[2]);
    if (!ago || *ago > 366ULL * 24 * 3600 * 1000) continue;
    refusals.push_back({one[0].text, static_cast<std::uint64_t>(one[1].integer),
                        std::chrono::milliseconds(*ago), one[3].text});
  }
  return refusals;
}

std::optional<Queue> read_waiting(const Value& reply) {
  const std::vector<Value>& part = reply.elements;
  if (part.size() < 2 || part[0].text != "waiting" || part[1].type != Value::Type::integer) {
    return std::nullopt;
  }
  Queue queue;
  for (std::size_t at = 2; at < part.size() && queue.first.size() < kMostShown; ++at) {
    if (auto waiter = read_waiter(part[at])) queue.first.push_back(std::move(*waiter));
  }
  const auto length = std::clamp<std::int64_t>(part[1].integer, 0, kMostCounted);
  queue.length = std::max(static_cast<std::size_t>(length), queue.first.size());
  return queue;
}

Taken read_taken(const Value& reply) {
  const std::vector<Value>& part = reply.elements;
  const std::string_view word = part.empty() ? std::string_view() : part[0].text;
  if (word == "released") return {lock::Released{}};
  if (word == "missing") return {lock::Missing{}};
  if (word == "not_mine" && part.size() == 2) return {lock::NotMine{part[1].text}};
  if (word != "revoked" || !fits(reply, "sisi")) return {unexpected_reply(reply)};
  Taken taken{lock::Released{}, part[1].integer, {}, part[3].integer == 0};
  // The generation, which is in the list too, is not a token.
  std::istringstream listed(part[2].text);
  for (std::string token; listed >> token;) {
    if (lock::is_token(token)) taken.readers.push_back(token);
  }
  return taken;
}

lock::Answer read_answer(lock::Op op, const LockContext& context, const Value& reply) {
  const bool has_word =
      !reply.elements.empty() && reply.elements.front().type == Value::Type::string;
  if (!has_word) return unexpected_reply(reply);
  const std::string_view word = reply.elements.front().text;
  const auto answer = op == lock::Op::acquire  ? read_acquire(context, word, reply)
                      : op == lock::Op::commit ? read_commit(word, reply)
                      : op == lock::Op::repair ? read_repair(word, reply)
                                               : read_other(op, word, reply);
  if (answer) return *answer;
  return unexpected_reply(reply);
}

lock::Answer read_waited(lock::Answer answer, const Value& waited, unsigned replicas) {
  const bool counts = std::holds_alternative<lock::Granted>(answer) ||
                      std::holds_alternative<lock::Renewed>(answer) ||
                      std::holds_alternative<lock::Committed>(answer);
  if (!counts) return answer;
  if (waited.type != Value::Type::integer) return unexpected_reply(waited);
  if (waited.integer >= static_cast<std::int64_t>(replicas)) return answer;
  return lock::Unreachable{
      .why = "only " + std::to_string(std::max<std::int64_t>(waited.integer, 0)) + " of " +
             std::to_string(replicas) +
             " replicas have the lock in time, so its vote does not count (--replicas)"};
}

}  // namespace redlock::redis
