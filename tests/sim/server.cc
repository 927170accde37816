// SPDX-License-Identifier: MIT
#include "server.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace redlock::sim {

namespace {

using Word = Response::Word;

}  // namespace

void Server::reset(std::uint32_t index, const Clock& clock, std::int64_t started_ms,
                   const LockSettings& settings, Mutation mutation) {
  index_ = index + 1;
  life_ = memory_ = 1;
  clock_ = clock;
  started_ms_ = started_ms;
  settings_ = settings;
  mutation_ = mutation;
  forget_data();
  snapshot_ = data_;
  replica_.clear();
  replica_held_ = {};
  replica_clock_ = clock;
  replica_started_ms_ = 0;
  failed_over_ = false;
}

void Server::forget_data() {
  data_ = {};
  data_.queue.reset(mutation_);
}

Response Server::execute(const Request& request, Time now) {
  // A script sees one time from its beginning to its end.
  const std::int64_t clock = now_ms(now);
  expire(clock);
  if (request.joins_queue) return join_queue(request, clock);
  const Response response = run_script(request, clock);
  // The second script of the flight.
  if (request.op == lock::Op::leave) wake_next(clock);
  return response;
}

Response Server::run_script(const Request& request, std::int64_t now) {
  const bool marks = request.op == lock::Op::mark || request.op == lock::Op::unmark;
  if (is_listed(request.token) && request.op != lock::Op::inquire && !marks) {
    return run_for_listed(request, now);
  }
  switch (request.op) {
    case lock::Op::acquire:
      return acquire(request, now);
    case lock::Op::commit:
      return commit(request, now);
    case lock::Op::renew:
      return renew(request, now);
    case lock::Op::repair:
      return repair(request, now);
    case lock::Op::mark:
      return mark(request, now);
    case lock::Op::unmark:
      return unmark(request);
    case lock::Op::leave:
      return leave(request, now);
    case lock::Op::inquire:
      return {.word = is_released(request.token) ? Word::released : Word::missing};
    case lock::Op::leave_queue:
      return leave_queue(request, now);
    case lock::Op::release:
      break;
  }
  return release(request);
}

/// Every refusal puts a waiter into the queue, or keeps it there.
Response Server::refuse(const Request& request, Response refusal, std::int64_t now) {
  Queue& queue = data_.queue;
  refusal.clock = now;
  refusal.ticket = request.ticket;
  if (request.waiter == kNoWaiter) {
    refusal.ticket = queue.next_ticket(now);
  } else if (mutation_ != Mutation::refused_out_of_queue) {
    queue.enqueue(request.waiter, request.ticket, now);
    refusal.place = queue.place(request.waiter);
  }
  refusal.waiters = queue.entries().size();
  return refusal;
}

Response Server::join_queue(const Request& request, std::int64_t now) {
  data_.queue.enqueue(request.waiter, request.ticket, now);
  return {.word = Word::joined,
          .place = data_.queue.place(request.waiter),
          .waiters = data_.queue.entries().size()};
}

Response Server::leave_queue(const Request& request, std::int64_t now) {
  data_.queue.leave(request.waiter);
  wake_next(now);
  return {.word = Word::released};
}

void Server::wake_next(std::int64_t now) {
  const Key& key = data_.lock;
  const bool shared = is_shared(key.value) && !is_revoked(key.value);
  const bool free = key.value == kNoToken;
  const auto state = free                             ? Queue::Lock::State::free
                     : is_cooling(key.value)          ? Queue::Lock::State::cooling
                     : has_free_slot(now)             ? Queue::Lock::State::one_slot_free
                     : shared && is_reader(key.value) ? Queue::Lock::State::shared
                                                      : Queue::Lock::State::held;
  data_.queue.wake({state, key.expires_ms == 0 ? -1 : key.expires_ms - now, key.value}, now,
                   publish_);
}

Response Server::acquire(const Request& request, std::int64_t now) {
  const bool revoked_away = is_revoked(data_.lock.value) && mutation_ == Mutation::revoked_free;
  const bool free = data_.lock.value == kNoToken || revoked_away;
  const bool ours = data_.lock.value == request.token;
  const bool once = request.once_ms > 0 && mutation_ != Mutation::mark_unseen;
  const std::int64_t age = now - data_.done.began_ms;
  const bool joins = request.hold != request.token;
  if (once && (!ours || joins) && data_.done.began_ms != 0 && age < request.once_ms &&
      age > -request.once_ms) {
    return {.word = Word::done,
            .pttl = data_.done.expires_ms - now,
            .age = std::max<std::int64_t>(age, 0)};
  }
  const bool beside = mutation_ == Mutation::acquire_shared ||
                      (mutation_ == Mutation::writer_enters && is_shared(data_.lock.value));
  if (!free && !ours && !beside) {
    return refuse(request, refusal(now), now);
  }

  if (!ours && is_dead(request.token)) {
    return refuse(request, {.word = Word::refused, .value = revoked(request.token), .pttl = -2},
                  now);
  }
  if (joins && !ours) return refuse(request, {.word = Word::refused, .pttl = -2}, now);
  if (joins && !data_.holder.is_held(request.token)) return {.word = Word::no_holds};

  const Trace trace = this->trace();
  if (const auto refusal = fresh(trace, ours, now)) return *refusal;

  // The queue decides only about a free lock. A grant uses up no turn: its owner leaves the queue
  // when it has a quorum.
  if (free && !joins) {
    Queue& queue = data_.queue;
    if (const auto turn = queue.refusing_turn(request.waiter, request.ticket, now, publish_)) {
      return refuse(request, {.word = Word::refused, .pttl = turn->left_ms, .turn = turn->owner},
                    now);
    }
    queue.granted(request.waiter);
  }

  if (ours) {
    data_.lock.expires_ms = std::max(data_.lock.expires_ms, now + request.life_ms);
  } else {
    data_.lock = {request.token, mutation_ == Mutation::no_expiry ? 0 : now + request.life_ms};
    data_.holder.forget_all();
  }
  return grant(request, trace, ours, now);
}

Trace Server::trace() const {
  if (!data_.fence.exists) return Trace::none;
  return data_.fence.run_id == run_id() ? Trace::present : Trace::earlier;
}

std::optional<Response> Server::fresh(Trace trace, bool ours, std::int64_t now) const {
  const std::int64_t uptime = now / 1000 - started_ms_ / 1000;
  const std::int64_t grace = settings_.restart_grace_s;
  if (ours || trace != Trace::earlier || grace == 0 || uptime >= grace + 1) return std::nullopt;
  return Response{.word = Word::fresh, .uptime = uptime};
}

/// The lock holds the token: grant.lua.
Response Server::grant(const Request& request, Trace trace, bool ours, std::int64_t now) {
  const std::int64_t uptime = now / 1000 - started_ms_ / 1000;
  const bool joins = request.hold != request.token;
  if (joins || !ours) data_.holder.put_hold(request.token, request.hold, now + settings_.ttl_ms);
  data_.holder.expires_ms = data_.lock.expires_ms + 10'000;
  if (joins) {
    return {
        .word = Word::granted, .trace = trace, .run_id = run_id(), .uptime = uptime, .clock = now};
  }
  std::uint64_t fence = ours ? data_.holder.number(request.token) : 0;
  if (fence == 0) fence = next_fence(trace, now);
  data_.holder.numbered(request.token) = {request.token, fence, true};
  data_.holder.expires_ms = data_.lock.expires_ms + 10'000;
  return {.word = Word::granted,
          .trace = trace,
          .run_id = run_id(),
          .uptime = uptime,
          .fence = fence,
          .clock = now};
}

/// In a new life the counter may be older than numbers already given out: it goes on from the
/// clock.
std::uint64_t Server::next_fence(Trace trace, std::int64_t now) {
  std::uint64_t before = data_.fence.exists ? data_.fence.value : 0;
  bool from_clock = trace != Trace::present;
  if (mutation_ == Mutation::fail_over_unseen && failed_over_) from_clock = trace == Trace::none;
  if (mutation_ == Mutation::run_id_ignored) from_clock = trace == Trace::none;
  if (mutation_ == Mutation::fence_from_one && trace == Trace::none) from_clock = false;
  if (from_clock) before = std::max(before, static_cast<std::uint64_t>(now));
  data_.fence = {true, before + 1, run_id()};
  return before + 1;
}

Response Server::commit(const Request& request, std::int64_t now) {
  if (data_.lock.value != request.token) return {.word = Word::not_committed};
  return raise(request, now);
}

Response Server::raise(const Request& request, std::int64_t now) {
  Fence& fence = data_.fence;
  if (!fence.exists) return {.word = Word::not_committed};
  if (fence.run_id != run_id() || fence.value >= request.fence) {
    return {.word = Word::not_committed, .fence = fence.value};
  }
  fence.value = request.fence;
  data_.holder.numbered(request.token).fence = request.fence;
  const Key& key = data_.lock;
  if (data_.holder.expires_ms == HolderHash::kNever) {
    data_.holder.expires_ms = (key.expires_ms == 0 ? now : key.expires_ms) + 10'000;
  }
  return {.word = Word::committed};
}

Response Server::mark(const Request& request, std::int64_t now) {
  std::int64_t began = request.began_ms;
  if (mutation_ == Mutation::mark_on_arrival) began = now;
  if (data_.done.began_ms >= began) return {.word = Word::marked};
  const std::int64_t end = std::max(began + request.life_ms, data_.done.expires_ms);
  if (end > now) data_.done = {began, end};
  return {.word = Word::marked};
}

Response Server::unmark(const Request& request) {
  if (data_.done.began_ms == 0) return {.word = Word::missing};
  if (data_.done.began_ms != request.began_ms) return {.word = Word::not_mine};
  data_.done = {};
  return {.word = Word::released};
}

Response Server::renew(const Request& request, std::int64_t now) {
  hold(request, now);  // the second command of the flight, which is about another key
  if (data_.lock.value == kNoToken) return {.word = Word::missing};
  if (data_.lock.value != request.token) {
    const bool revoked_from_us = data_.lock.value == revoked(request.token);
    return {.word = Word::not_mine, .value = data_.lock.value, .revoked = revoked_from_us};
  }
  data_.lock.expires_ms = std::max(data_.lock.expires_ms, now + request.life_ms);
  return {.word = Word::renewed};
}

Response Server::repair(const Request& request, std::int64_t now) {
  if (is_released(request.token) && mutation_ != Mutation::note_unread) {
    hold(request, now);
    return {.word = Word::released};
  }
  if (is_dead(request.token)) {
    hold(request, now);
    return {.word = Word::refused, .value = revoked(request.token), .pttl = -2};
  }
  if (data_.lock.value == kNoToken) {
    data_.lock = {request.token, now + request.life_ms};
    data_.holder.numbered(request.token).who = true;
    data_.holder.expires_ms = now + request.life_ms + 10'000;
    hold(request, now);
    return {.word = Word::granted};
  }
  hold(request, now);
  if (data_.lock.value == request.token) return {.word = Word::granted};
  return refusal(now);
}

/// hold.lua
void Server::hold(const Request& request, std::int64_t now) {
  for (const HolderHash::Numbered& each : data_.holder.numbers) {
    if (each.token != request.token || !each.who) continue;
    const std::int64_t end = now + request.life_ms + 10'000;
    const bool for_ever = data_.holder.expires_ms == HolderHash::kNever;
    data_.holder.expires_ms = for_ever ? end : std::max(data_.holder.expires_ms, end);
    return data_.holder.put_hold(request.token, request.hold, now + settings_.ttl_ms);
  }
}

Response Server::refusal(std::int64_t now) const {
  const Key& key = data_.lock;
  return {.word = Word::refused,
          .value = key.value,
          .pttl = key.expires_ms == 0 ? -1 : key.expires_ms - now};
}

/// Redis: a key is gone once the clock shows more than its expiry.
void Server::expire(std::int64_t now) {
  if (data_.lock.value != kNoToken && data_.lock.expires_ms != 0 && now > data_.lock.expires_ms) {
    data_.lock = {};
  }
  if (now > data_.holder.expires_ms) data_.holder.forget_all();
  if (now > data_.done.expires_ms) data_.done = {};
  if (now > data_.dead.expires_ms) {
    data_.dead = {};
    data_.dead_readers.clear();
  }
  if (now > data_.readers.expires_ms) data_.readers = {};
  data_.queue.expire(now);
}

void Server::restart(Restart how, Time now) {
  if (how == Restart::snapshot) data_ = snapshot_;
  if (how == Restart::empty) forget_data();
  ++life_;
  ++memory_;
  started_ms_ = now_ms(now);
}

void Server::set_foreign(Token value, std::int64_t ttl_ms, Time now) {
  expire(now_ms(now));
  if (data_.lock.value == kNoToken) data_.lock = {value, now_ms(now) + ttl_ms};
}

bool Server::revoke(Token token, Time now) {
  expire(now_ms(now));
  const Token value = data_.lock.value;
  const bool shown = value == token || (mutation_ == Mutation::revoke_any && value != kNoToken);
  if (shown) data_.lock.value = revoked(token);
  return shown;
}

bool Server::remove(Token token, Time now) {
  constexpr std::int64_t kLongestTtlMs = 86'400'000;
  const std::int64_t clock = now_ms(now);
  expire(clock);
  data_.holder.forget(token);
  Key& key = data_.lock;
  if (key.value != kNoToken && plain(key.value) != token) return false;
  std::int64_t left = key.value == kNoToken ? 0 : kLongestTtlMs;
  if (key.expires_ms != 0) left = key.expires_ms - clock;
  key = {};
  bury(token, {}, clock + left + 10'000);
  return true;
}

void Server::bury(Token token, std::vector<Token> readers, std::int64_t until) {
  if (mutation_ == Mutation::no_tombstone) return;
  data_.dead = {token, until};
  data_.dead_readers = std::move(readers);
}

bool Server::lasts(Token token, Time until) const {
  const Key& key = data_.lock;
  if (is_listed(token)) {
    const Standing standing = stand(token, now_ms(until));
    return standing.ours && (key.expires_ms == 0 || key.expires_ms > now_ms(until));
  }
  return key.value == token && (key.expires_ms == 0 || key.expires_ms > now_ms(until));
}

Token Server::owner(Time now) const {
  const Key& key = data_.lock;
  return key.expires_ms != 0 && now_ms(now) > key.expires_ms ? kNoToken : key.value;
}

}  // namespace redlock::sim
