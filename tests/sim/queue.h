// SPDX-License-Identifier: MIT
//
// The queue of waiters that a server keeps of a lock, as src/redis/scripts/*.lua keep it: who
// waits, in which order, and whose turn it is while the lock is free. One function for each rule of
// the scripts. Absent on purpose: the lock itself (server.h), and what a waiter makes of a wake-up
// (lock/acquisition.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "lock/vote.h"
#include "mutation.h"
#include "token.h"

namespace redlock::sim {

/// A waiter by its number: the order of the numbers is the order of the ids. 0: none.
using Waiter = std::uint64_t;
inline constexpr Waiter kNoWaiter = 0;

/// What a server publishes on a waiter's channel.
struct WakeUp {
  enum class Text : std::uint8_t { free, next, cools };
  Text text;
  std::int64_t pttl = 0;  ///< cools: until then, in ms
};

/// All times are in ms, by the server's clock.
class Queue {
 public:
  static constexpr std::int64_t kLifeMs = 20'000;  ///< a waiter counts so long after its last ask
  static constexpr std::int64_t kTurnMs = 500;

  /// PUBLISH to a waiter. True: a subscriber got it.
  using Publish = std::function<bool(Waiter, const WakeUp&)>;

  struct Entry {
    lock::Ticket ticket;
    Waiter waiter;
    std::int64_t counts_until;
    bool marked = false;  ///< it was given a turn and has not asked since
  };
  /// Whoever asks must wait until then.
  struct Turn {
    Waiter owner = kNoWaiter;
    std::int64_t left_ms = 0;
  };
  /// The lock, as far as wake() has to know it.
  struct Lock {
    /// one_slot_free: others have the rest.
    enum class State : std::uint8_t { free, one_slot_free, cooling, shared, held };
    State state;
    std::int64_t pttl = 0;     ///< cooling
    Token holders = kNoToken;  ///< one_slot_free: of the kind of this one
  };

  void reset(Mutation mutation) {
    *this = {};
    mutation_ = mutation;
  }

  /// A request of this moment: what has expired is gone.
  void expire(std::int64_t now);

  /// An acquire finds the lock free: the turn that refuses it, or none. `me` may be none, and then
  /// has no ticket.
  std::optional<Turn> refusing_turn(Waiter me, lock::Ticket ticket, std::int64_t now,
                                    const Publish& publish);
  /// Why a reader, or a waiter for a slot, may not enter: another waiter stands before it that
  /// cannot hold the lock together with it, or perhaps one does.
  struct Bar {
    Turn turn;
    bool other;  ///< it is known to be one
  };
  /// A reader asks for a lock that is free, or shared.
  std::optional<Bar> refusing_reader(Waiter me, lock::Ticket ticket, bool free, std::int64_t now,
                                     const Publish& publish);
  /// A token asks for a free slot of a lock that is free, or of which others have slots.
  std::optional<Bar> refusing_slot(Waiter me, Token token, lock::Ticket ticket, bool free,
                                   std::int64_t now, const Publish& publish);
  /// An acquire was granted.
  void granted(Waiter me);
  /// The ticket of a waiter that joins now.
  [[nodiscard]] lock::Ticket next_ticket(std::int64_t now) const;
  void enqueue(Waiter waiter, lock::Ticket ticket, std::int64_t now);

  void leave(Waiter waiter);
  void wake(const Lock& lock, std::int64_t now, const Publish& publish);

  /// So much later everything ends than it would. Negative: so much time passes; an hour: the clock
  /// is set back by it.
  void postpone(std::int64_t length);

  /// From 1; 0: it is not in the queue.
  [[nodiscard]] std::size_t place(Waiter waiter) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return queue_; }
  /// The turn, live or not; without an owner there is none.
  [[nodiscard]] Waiter turn_owner() const { return turn_owner_; }
  [[nodiscard]] std::int64_t turn_ends_ms() const { return turn_ends_ms_; }
  /// When all of it ends.
  [[nodiscard]] std::int64_t expires_ms() const { return expires_ms_; }

 private:
  [[nodiscard]] std::optional<Turn> live_turn(std::int64_t now) const;
  enum class Cause : std::uint8_t { wake, acquire };
  enum class Give { turn, nothing };
  Waiter hand_on(Cause cause, Waiter me, lock::Ticket ticket, std::int64_t now,
                 const Publish& publish, const Lock& lock);
  bool call(Waiter waiter, Give give, std::int64_t now, const Publish& publish);
  bool call_along(Waiter waiter, std::int64_t now, const Publish& publish);
  [[nodiscard]] std::optional<Bar> other_before(Waiter me, Token kind, lock::Ticket ticket,
                                                std::int64_t left, std::int64_t now) const;
  void sweep(std::int64_t now);
  void forget(Waiter waiter);
  [[nodiscard]] std::size_t index_of(Waiter waiter) const;
  [[nodiscard]] bool counts(const Entry& entry, std::int64_t now) const {
    const bool ahead = entry.counts_until > now + kLifeMs;
    return entry.counts_until > now && !(ahead && mutation_ == Mutation::ends_ahead_void);
  }

  Mutation mutation_ = Mutation::none;
  std::vector<Entry> queue_;  ///< by ticket, then by waiter
  std::int64_t expires_ms_ = 0;
  Waiter turn_owner_ = kNoWaiter;
  std::int64_t turn_ends_ms_ = 0;
};

}  // namespace redlock::sim
