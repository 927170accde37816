// SPDX-License-Identifier: MIT
#include "queue.h"

#include <algorithm>
#include <utility>

namespace redlock::sim {

namespace {

/// The most that one request looks at, so that no request costs more when many wait.
constexpr std::size_t kMostSeen = 64;
constexpr std::size_t kMostBefore = 32;
constexpr std::size_t kMostCalled = 32;
constexpr std::size_t kMostSwept = 32;
constexpr std::size_t kMostCut = 8;
constexpr std::size_t kMostTold = 8;
constexpr std::size_t kMostTogether = 8;

constexpr Queue::Lock kFree{Queue::Lock::State::free};

/// Asked within this time, a waiter that nobody hears counts as heard: it may not SUBSCRIBE.
constexpr std::int64_t kJustAskedMs = 500;

bool stands_before(const Queue::Entry& entry, Waiter waiter, lock::Ticket ticket) {
  return std::pair(entry.ticket, entry.waiter) < std::pair(ticket, waiter);
}

}  // namespace

/// Redis: a key is gone once the clock shows more than its expiry.
void Queue::expire(std::int64_t now) {
  if (now > expires_ms_) queue_.clear();
  if (now > turn_ends_ms_) turn_owner_ = kNoWaiter;
}

void Queue::postpone(std::int64_t length) {
  for (Entry& entry : queue_) entry.counts_until += length;
  expires_ms_ += length;
  turn_ends_ms_ += length;
}

std::size_t Queue::index_of(Waiter waiter) const {
  const auto entry = std::find_if(queue_.begin(), queue_.end(),
                                  [&](const Entry& each) { return each.waiter == waiter; });
  return static_cast<std::size_t>(entry - queue_.begin());
}

std::size_t Queue::place(Waiter waiter) const {
  const std::size_t index = index_of(waiter);
  return index == queue_.size() ? 0 : index + 1;
}

lock::Ticket Queue::next_ticket(std::int64_t now) const {
  const auto clock = static_cast<lock::Ticket>(now);
  if (queue_.empty() || mutation_ == Mutation::ticket_of_clock) return clock;
  return std::max(clock, queue_.back().ticket + 1);
}

/// The dead are forgotten, a few with each request. A clock that was set back leaves ends that are
/// far ahead of it: they count, but not for ever.
void Queue::sweep(std::int64_t now) {
  std::vector<std::pair<std::int64_t, Waiter>> over;
  std::vector<std::pair<std::int64_t, Waiter>> ahead;
  for (const Entry& entry : queue_) {
    if (!counts(entry, now)) over.emplace_back(entry.counts_until, entry.waiter);
    if (entry.counts_until > now + kLifeMs) ahead.emplace_back(entry.counts_until, entry.waiter);
  }
  std::sort(over.begin(), over.end());
  for (std::size_t i = 0; i < std::min(over.size(), kMostSwept); ++i) forget(over[i].second);
  if (mutation_ == Mutation::ends_uncut) return;
  std::sort(ahead.begin(), ahead.end());
  for (std::size_t i = 0; i < std::min(ahead.size(), kMostCut); ++i) {
    queue_[index_of(ahead[i].second)].counts_until = now + kLifeMs;
  }
}

/// A ticket never changes while its waiter is in the queue.
void Queue::enqueue(Waiter waiter, lock::Ticket ticket, std::int64_t now) {
  sweep(now);
  std::size_t index = index_of(waiter);
  if (index == queue_.size()) {
    const auto after = std::find_if(queue_.rbegin(), queue_.rend(), [&](const Entry& each) {
      return stands_before(each, waiter, ticket);
    });
    index = static_cast<std::size_t>(queue_.rend() - after);
    queue_.insert(after.base(), {.ticket = ticket, .waiter = waiter, .counts_until = 0});
  }
  queue_[index].counts_until = now + kLifeMs;
  queue_[index].marked = false;
  expires_ms_ = now + kLifeMs;
}

void Queue::forget(Waiter waiter) {
  std::erase_if(queue_, [waiter](const Entry& each) { return each.waiter == waiter; });
}

/// A turn ends by itself. One that lasts longer than any turn is from before the clock was set
/// back.
std::optional<Queue::Turn> Queue::live_turn(std::int64_t now) const {
  if (turn_owner_ == kNoWaiter || mutation_ == Mutation::no_turn) return std::nullopt;
  const std::int64_t left = turn_ends_ms_ - now;
  const bool too_long = left > kTurnMs && mutation_ != Mutation::turn_endless;
  if (left <= 0 || too_long) return std::nullopt;
  // Its owner has left, or was dropped.
  const bool gone = index_of(turn_owner_) == queue_.size();
  if (gone && mutation_ != Mutation::turn_never_ends) return std::nullopt;
  return Turn{turn_owner_, left};
}

/// Calls the first waiter that hears it, and tells the one behind it. Readers that stand behind one
/// another are called together; while the lock is shared, only they are, and while others have
/// slots, only waiters for those. Returns whose turn it is now. With `me`: only the waiters before
/// me. After a turn that was missed, those behind the owner are called, too.
Waiter Queue::hand_on(Cause cause, Waiter me, lock::Ticket ticket, std::int64_t now,
                      const Publish& publish, const Lock& lock) {
  const bool shared = lock.state == Lock::State::shared;
  const std::size_t most = std::min(queue_.size(), kMostSeen);
  const std::vector<Entry> first(queue_.begin(),
                                 queue_.begin() + static_cast<std::ptrdiff_t>(most));
  Waiter owner = kNoWaiter;
  Waiter marked = kNoWaiter;
  bool behind = false;
  std::size_t called = 0;
  for (const Entry& each : first) {
    if (me != kNoWaiter && !stands_before(each, me, ticket)) break;
    const bool together =
        is_reader(each.waiter) && is_reader(owner) && mutation_ != Mutation::readers_one_by_one;
    const bool apart = owner != kNoWaiter && (behind || !together);
    const bool missed =
        cause == Cause::acquire && marked != kNoWaiter && mutation_ != Mutation::called_one_by_one;
    if (!counts(each, now)) {
      forget(each.waiter);
    } else if (each.marked && mutation_ != Mutation::no_marks) {
      if (marked == kNoWaiter) marked = each.waiter;
    } else if (shared && !is_reader(each.waiter)) {
      break;
    } else if (lock.state == Lock::State::one_slot_free && !same_kind(each.waiter, lock.holders)) {
      break;
    } else if (apart && !missed) {
      publish(each.waiter, {WakeUp::Text::next});
      break;
    } else if (apart) {
      if (!call_along(each.waiter, now, publish)) continue;
      behind = true;
      if (++called == kMostCalled) break;
    } else if (call(each.waiter, owner == kNoWaiter && !shared ? Give::turn : Give::nothing, now,
                    publish)) {
      if (owner == kNoWaiter) owner = each.waiter;
      if (++called == kMostTogether) break;
    }
  }
  if (owner == kNoWaiter && marked != kNoWaiter && !shared) {
    publish(marked, {WakeUp::Text::free});
  }
  return owner;
}

/// A waiter that nobody hears is dropped: its next ask puts it back, with its old ticket.
bool Queue::call(Waiter waiter, Give give, std::int64_t now, const Publish& publish) {
  Entry& entry = queue_[index_of(waiter)];
  const bool just_asked = entry.counts_until - kLifeMs >= now - kJustAskedMs;
  const bool heard = publish(waiter, {WakeUp::Text::free}) ||
                     (just_asked && mutation_ != Mutation::silent_passed_over) ||
                     mutation_ == Mutation::unheard_kept;
  if (!heard) {
    forget(waiter);
    return false;
  }
  if (give == Give::turn) {
    turn_owner_ = waiter;
    turn_ends_ms_ = now + kTurnMs;
  }
  entry.marked = true;
  return true;
}

/// Calls a waiter with the turn of another one before it. When the turn is over, it does not count
/// any more, unless it has asked.
bool Queue::call_along(Waiter waiter, std::int64_t now, const Publish& publish) {
  if (!publish(waiter, {WakeUp::Text::free})) return false;
  Entry& entry = queue_[index_of(waiter)];
  if (mutation_ != Mutation::called_count_on) entry.counts_until = now + kTurnMs;
  if (mutation_ == Mutation::called_as_missed) entry.marked = true;
  return true;
}

std::optional<Queue::Bar> Queue::refusing_reader(Waiter me, lock::Ticket ticket, bool free,
                                                 std::int64_t now, const Publish& publish) {
  if (queue_.empty() || mutation_ == Mutation::readers_overtake) return std::nullopt;
  std::optional<Turn> turn = live_turn(now);
  if (turn) {
    const auto owner = queue_.begin() + static_cast<std::ptrdiff_t>(index_of(turn->owner));
    const bool before =
        me != kNoWaiter && owner != queue_.end() && !stands_before(*owner, me, ticket);
    const std::int64_t left = turn->left_ms;
    if (before) turn->owner = kNoWaiter;
    if (turn->owner != kNoWaiter && !is_reader(turn->owner)) return Bar{*turn, true};
    return other_before(me, kReaderBit, ticket, left, now);
  }
  if (free && mutation_ != Mutation::no_turn && mutation_ != Mutation::asker_first) {
    const Waiter owner = hand_on(Cause::acquire, me, ticket, now, publish, kFree);
    if (owner != kNoWaiter && !is_reader(owner)) return Bar{{owner, kTurnMs}, true};
  }
  return other_before(me, kReaderBit, ticket, kTurnMs, now);
}

/// Beyond the 32nd waiter, each is taken for one of another kind.
std::optional<Queue::Bar> Queue::other_before(Waiter me, Token kind, lock::Ticket ticket,
                                              std::int64_t left, std::int64_t now) const {
  for (std::size_t i = 0; i < std::min(queue_.size(), kMostBefore); ++i) {
    const Entry& each = queue_[i];
    if (me != kNoWaiter && !stands_before(each, me, ticket)) return std::nullopt;
    if (!same_kind(each.waiter, kind) && counts(each, now) && !each.marked) {
      return Bar{{each.waiter, left}, true};
    }
  }
  if (queue_.size() < kMostBefore) return std::nullopt;
  return Bar{{queue_[kMostBefore - 1].waiter, left}, false};
}

/// A waiter of another kind before us waits until no slot is taken, and so do we.
std::optional<Queue::Bar> Queue::refusing_slot(Waiter me, Token token, lock::Ticket ticket,
                                               bool free, std::int64_t now,
                                               const Publish& publish) {
  if (queue_.empty() || (!free && mutation_ == Mutation::slots_overtake)) return std::nullopt;
  if (!free) {
    if (const auto bar = other_before(me, token, ticket, 0, now)) return Bar{bar->turn, true};
  }
  if (const auto turn = refusing_turn(me, ticket, now, publish)) return Bar{*turn, false};
  return std::nullopt;
}

std::optional<Queue::Turn> Queue::refusing_turn(Waiter me, lock::Ticket ticket, std::int64_t now,
                                                const Publish& publish) {
  if (queue_.empty()) return std::nullopt;
  if (const auto turn = live_turn(now)) {
    if (turn->owner == me) return std::nullopt;
    const auto owner = queue_.begin() + static_cast<std::ptrdiff_t>(index_of(turn->owner));
    const bool before =
        me != kNoWaiter && owner != queue_.end() && !stands_before(*owner, me, ticket);
    return before ? std::nullopt : turn;
  }
  if (mutation_ == Mutation::no_turn || mutation_ == Mutation::asker_first) return std::nullopt;
  const Waiter owner = hand_on(Cause::acquire, me, ticket, now, publish, kFree);
  if (owner == kNoWaiter) return std::nullopt;
  return Turn{owner, kTurnMs};
}

void Queue::granted(Waiter me) {
  const std::size_t index = index_of(me);
  if (index < queue_.size()) queue_[index].marked = false;
}

void Queue::leave(Waiter waiter) {
  forget(waiter);
  if (turn_owner_ == waiter && mutation_ != Mutation::turn_never_ends) turn_owner_ = kNoWaiter;
}

void Queue::wake(const Lock& lock, std::int64_t now, const Publish& publish) {
  const bool free = lock.state == Lock::State::free || lock.state == Lock::State::one_slot_free;
  if (free && !live_turn(now)) hand_on(Cause::wake, kNoWaiter, 0, now, publish, lock);
  if (lock.state == Lock::State::shared) hand_on(Cause::wake, kNoWaiter, 0, now, publish, lock);
  if (lock.state != Lock::State::cooling || mutation_ == Mutation::cooling_untold) return;
  int told = 0;
  for (std::size_t i = 0; i < std::min(queue_.size(), kMostTold) && told < 2; ++i) {
    told += publish(queue_[i].waiter, {WakeUp::Text::cools, lock.pttl}) ? 1 : 0;
  }
}

}  // namespace redlock::sim
