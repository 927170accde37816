// SPDX-License-Identifier: MIT
#include "redis/requests/request.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lock/token.h"
#include "redis/requests/keys.h"
#include "redis/requests/queue.h"
#include "redis/requests/scripts.h"
#include "redis/wire/reading.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

// The holder hash outlives the lock a little, so that the last holder can still be named.
constexpr std::chrono::milliseconds kHolderExtra{10'000};

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
  switch (op) {
    case lock::Op::acquire:
      return read_acquire(context, word, reply);
    case lock::Op::commit:
      return read_commit(word, reply);
    case lock::Op::repair:
      return read_repair(word, reply);
    case lock::Op::renew:
    case lock::Op::mark:
    case lock::Op::unmark:
    case lock::Op::release:
    case lock::Op::leave:
    case lock::Op::inquire:
    case lock::Op::leave_queue:
      break;
  }
  return read_other(op, word, reply);
}

Flight encode_acquire(const lock::Ask& ask, const LockContext& context, const Secrets& secrets,
                      const std::string& life) {
  const std::string grace = std::to_string(context.restart_grace.count());
  const std::string ttl = std::to_string(context.ttl.count());
  const std::string waiter = ask.ticket == 0 ? "" : context.waiter;
  const std::string ticket = ask.ticket == 0 ? "" : std::to_string(ask.ticket);
  const auto period = std::chrono::ceil<std::chrono::milliseconds>(ask.once);
  const std::string once = std::to_string(period.count());
  const bool asks_once = ask.once > lock::Duration::zero();
  const bool shared = lock::is_of_reader(secrets.token);
  const std::string prefix = queue_prefix(context.lock_key);
  std::vector<std::string_view> words{"EVAL",
                                      lock::is_of_slot(secrets.token) ? scripts::acquire_slot
                                      : shared                        ? scripts::acquire_shared
                                                                      : scripts::acquire,
                                      asks_once || shared ? "5" : "4",
                                      context.lock_key,
                                      context.holder_key,
                                      context.fence_key,
                                      context.dead_key};
  if (shared) {
    words.emplace_back(context.readers_key);
  } else if (asks_once) {
    words.emplace_back(context.done_key);
  }
  for (const std::string* word : {&secrets.token, &life, &context.holder_json, &grace, &ttl,
                                  &secrets.hold, &waiter, &ticket, &prefix}) {
    words.emplace_back(*word);
  }
  if (asks_once && !shared) words.emplace_back(once);
  return {encode_words(words), 1};
}

/// A process that renews the lock learns of its release by the owner.
Flight with_notice(Flight flight, const LockContext& context, const Secrets& secrets) {
  if (!secrets.adopted) return flight;
  flight.wire += encode_command(
      {"PUBLISH", notice_channel(context.lock_key, secrets.token), std::string(kReleasedNotice)});
  ++flight.replies;
  return flight;
}

Flight encode_leave_shared(const lock::Ask& ask, const LockContext& context,
                           const Secrets& secrets) {
  const std::string ttl = std::to_string(context.ttl.count());
  std::vector<std::string_view> words{"EVAL",
                                      scripts::leave_shared,
                                      "4",
                                      context.lock_key,
                                      context.holder_key,
                                      context.fence_key,
                                      context.readers_key,
                                      secrets.token,
                                      secrets.hold,
                                      "0"};
  if (secrets.adopted || ask.for_owner) {
    words.emplace_back(secrets.adopted ? "owner" : "keeper");
    words.emplace_back(ttl);
  }
  return with_notice({encode_words(words) + encode_hand_on(context.lock_key), 2}, context, secrets);
}

Flight encode_leave(const lock::Ask& ask, const LockContext& context, const Secrets& secrets,
                    const std::string& life) {
  const std::string wake = encode_hand_on(context.lock_key);
  if (lock::is_of_reader(secrets.token)) return encode_leave_shared(ask, context, secrets);
  if (!secrets.adopted && !ask.for_owner) {
    return {encode_command({"EVAL", scripts::leave, "2", context.lock_key, context.holder_key,
                            secrets.token, secrets.hold, life}) +
                wake,
            2};
  }
  const std::string ttl = std::to_string(context.ttl.count());
  return with_notice(
      {encode_command({"EVAL", scripts::leave, "3", context.lock_key, context.holder_key,
                       context.fence_key, secrets.token, secrets.hold, life,
                       secrets.adopted ? "owner" : "keeper", ttl}) +
           wake,
       2},
      context, secrets);
}

Flight encode_mark(const lock::Ask& ask, const LockContext& context, const std::string& life) {
  const std::string began = std::to_string(ask.began.count());
  const std::string& who = ask.who.empty() ? context.holder_json : ask.who;
  if (ask.op == lock::Op::unmark) {
    // The release script compares and deletes: that is just what unmark needs.
    return {encode_command({"EVAL", scripts::release, "1", context.done_key, began + " " + who}),
            1};
  }
  return {encode_command({"EVAL", scripts::mark, "1", context.done_key, began, life, who}), 1};
}

/// The hold of a lock counts for another ttl: goes with a renewal and a repair.
std::string encode_hold(const LockContext& context, const Secrets& secrets,
                        std::chrono::milliseconds life) {
  return encode_command({"EVAL", scripts::hold, "1", context.holder_key, secrets.token,
                         secrets.hold, std::to_string(context.ttl.count()),
                         std::to_string((life + kHolderExtra).count())});
}

/// The requests for which a reader has a script of its own. The list of readers and the lock's key
/// go together: a server that renewed only one of them would let a writer in.
std::optional<Flight> encode_for_reader(const lock::Ask& ask, const LockContext& context,
                                        const Secrets& secrets, std::chrono::milliseconds life) {
  const std::string& token = secrets.token;
  const std::string length = std::to_string(life.count());
  switch (ask.op) {
    case lock::Op::renew:
      return Flight{encode_command({"EVAL", scripts::renew_shared, "2", context.lock_key,
                                    context.readers_key, token, length}) +
                        encode_hold(context, secrets, life),
                    2};
    case lock::Op::release:
      return Flight{encode_command({"EVAL", scripts::release_shared, "3", context.lock_key,
                                    context.readers_key, context.holder_key, token}),
                    1};
    case lock::Op::repair:
      return Flight{encode_command({"EVAL", scripts::repair_shared, "5", context.lock_key,
                                    context.holder_key, context.fence_key, context.dead_key,
                                    context.readers_key, token, length, context.holder_json}) +
                        encode_hold(context, secrets, life),
                    2};
    case lock::Op::commit:
      return Flight{encode_command({"EVAL", scripts::commit_shared, "4", context.lock_key,
                                    context.holder_key, context.fence_key, context.readers_key,
                                    token, std::to_string(ask.fence)}),
                    1};
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_replicated(lock::Op op) {
  return op == lock::Op::acquire || op == lock::Op::renew || op == lock::Op::repair ||
         op == lock::Op::commit;
}

Flight with_wait(Flight flight, unsigned replicas, std::chrono::milliseconds limit) {
  flight.wire += encode_command({"WAIT", std::to_string(replicas), std::to_string(limit.count())});
  ++flight.replies;
  flight.waits = true;
  return flight;
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

Flight with_asking(const Flight& flight) {
  Flight asking = flight;
  asking.wire.clear();
  for (std::string_view rest = flight.wire; !rest.empty();) {
    std::string_view command = rest;
    take_command(rest);
    command.remove_suffix(rest.size());
    asking.wire += encode_command({"ASKING"});
    asking.wire += command;
  }
  asking.replies = 2 * flight.replies;
  asking.answer_at = 1;
  return asking;
}

Flight encode_request(const lock::Ask& ask, const LockContext& context, const Secrets& secrets) {
  const std::string& token = secrets.token;
  // Rounded up: a key that lives longer than we assume does no harm.
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(ask.life);
  const std::string life = std::to_string(milliseconds.count());
  if (lock::is_of_reader(token)) {
    if (auto flight = encode_for_reader(ask, context, secrets, milliseconds)) return *flight;
  }
  switch (ask.op) {
    case lock::Op::renew:
      return {encode_command({"EVAL", scripts::renew, "1", context.lock_key, token, life}) +
                  encode_hold(context, secrets, milliseconds),
              2};
    case lock::Op::release:
      return {encode_command({"EVAL", scripts::release, "1", context.lock_key, token}) +
                  encode_command(
                      {"HDEL", context.holder_key, token, "fence:" + token, "holds:" + token}),
              2};
    case lock::Op::leave:
      return encode_leave(ask, context, secrets, life);
    case lock::Op::inquire:
      return {encode_command({"EVAL", scripts::inquire, "1", context.fence_key, token}), 1};
    case lock::Op::mark:
    case lock::Op::unmark:
      return encode_mark(ask, context, life);
    case lock::Op::repair:
      return {
          encode_command({"EVAL", scripts::repair, "4", context.lock_key, context.holder_key,
                          context.fence_key, context.dead_key, token, life, context.holder_json}) +
              encode_hold(context, secrets, milliseconds),
          2};
    case lock::Op::commit:
      return {encode_command({"EVAL", scripts::commit, "3", context.lock_key, context.holder_key,
                              context.fence_key, token, std::to_string(ask.fence)}),
              1};
    case lock::Op::leave_queue:  // QueueMember encodes it: it knows the waiter
    case lock::Op::acquire:
      break;
  }
  return encode_acquire(ask, context, secrets, life);
}

lock::Answer read_answer(lock::Op op, const LockContext& context, const Value& reply) {
  if (reply.type == Value::Type::array && !reply.elements.empty() &&
      is_string(reply.elements.front())) {
    const std::string_view word = reply.elements.front().text;
    if (const auto answer = read(op, context, word, reply)) return *answer;
  }
  return unexpected_reply(reply);
}

}  // namespace redlock::redis
