// SPDX-License-Identifier: MIT
//
// A Redis server as far as one lock goes: its keys, its clock, its life and its replica. It runs
// redlock's own scripts. Absent on purpose: the wire, and when a server is up (network.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clock.h"
#include "interpreter.h"
#include "keyspace.h"
#include "lock/vote.h"
#include "request.h"
#include "token.h"

namespace redlock::sim {

class Server {
 public:
  /// PUBLISH to a waiter: whether a subscriber gets it. `in`: when it shall ask.
  using Wake = std::function<bool(Waiter waiter, lock::Duration in)>;

  Server() = default;
  /// `clock` shows the time of day. Up since `started_ms` on it.
  void reset(std::uint32_t index, const Clock& clock, std::int64_t started_ms,
             const std::string& lock_key, const LockSettings& settings, Interpreter& interpreter);
  /// Nobody hears a message before that.
  void set_wake(Wake wake);
  /// An operator sets it.
  void step_clock(Time by, Time now);
  /// An operator deletes what may stay for long since the clock was set back: a lock, or the place
  /// of a reader, that nobody has renewed for `life`, and that no renewal since then could cut.
  void free_stale(Time life, Time now);
  /// The fencing number that it begins with; `present`: given in its present life.
  void set_fence(std::uint64_t value, bool present);
  Keyspace& keyspace() { return keyspace_; }
  [[nodiscard]] const Keyspace& keyspace() const { return keyspace_; }

  /// Carries out the commands of a request. The answer is that to the first.
  lock::Answer execute(const Request& request, Time now);

  void take_snapshot() { snapshot_ = keyspace_.keys(); }
  /// Its replica has what is there now after `lag`, and not before what came earlier. Returns when.
  Time replicate(Time now, Time lag);
  /// The replica gets nothing before that.
  void hold_replica(Time until) { replica_held_ = until; }
  /// The server is dead. There is what its replica has, and nobody answers until promote().
  void lose_primary(Time now);
  /// The replica, which has been up for long, is in its place under a run_id of its own, and the
  /// dead server its replica.
  void promote(Time now);
  void set_replica(const Clock& clock) { replica_clock_ = clock; }
  /// How long it keeps the token, as far as the data of now goes and by its replica's clock, in ms.
  [[nodiscard]] std::int64_t left(Token token, Time now) const;
  [[nodiscard]] std::int64_t left_on_replica(Token token, Time now) const;

  enum class Restart { kept, snapshot, empty };
  void restart(Restart how, Time now);

  /// Another program's SET key value NX PX. kForeignType: a list.
  void set_foreign(Token value, std::int64_t ttl_ms, Time now);
  void flush() {
    keyspace_.clear();
    ++memory_;
  }
  void delete_lock() { keyspace_.remove(context_.lock_key); }
  /// revoke.lua and remove.lua. True if it was done.
  bool revoke(Token token, Time now);
  /// False if the lock is somebody else's. `value`: the value seen here; `readers`: anywhere.
  bool remove(Token value, const std::vector<Token>& readers, Time now);

  /// What is in the lock's key.
  [[nodiscard]] Token owner(Time now) const;
  [[nodiscard]] bool lasts(Token token, Time until) const;  ///< it is there, and will be then
  /// Those that hold the lock, if it is shared.
  [[nodiscard]] std::vector<Token> readers(Time now) const;
  struct Queued {
    Waiter waiter;
    std::int64_t counts_until;
  };
  [[nodiscard]] std::vector<Queued> queue(Time now) const;
  /// From 1; 0: it is not in the queue.
  [[nodiscard]] std::size_t place(Waiter waiter, Time now) const;
  [[nodiscard]] std::int64_t now_ms(Time now) const {
    return clock_.shown(now).count() / 1'000'000;
  }
  /// Another one after each restart and each FLUSHALL: older notes may be forgotten.
  [[nodiscard]] std::uint32_t memory() const { return memory_; }

 private:
  using Keys = std::vector<Keyspace::Key>;

  void begin_life(std::int64_t started_ms);
  redis::Value run(const redis::Command& command);
  redis::Value run_all(const std::vector<redis::Command>& commands, Time now,
                       std::size_t answer_at = 0);
  [[nodiscard]] std::int64_t ends_of(Token token, std::int64_t now) const;
  [[nodiscard]] bool all_holds_right(Token token, Time now) const;
  [[nodiscard]] bool is_stale(Token token, Time life, Time now) const;
  void note_renewal(const Request& request, const lock::Answer& answer, Time now);
  [[nodiscard]] const Keyspace::Key* list_of_readers(std::int64_t now) const;

  std::uint32_t index_ = 0;
  std::uint32_t life_ = 0;
  std::uint32_t memory_ = 1;
  Clock clock_;
  redis::LockContext context_;
  std::string queue_key_;
  std::string alive_key_;
  Interpreter* interpreter_ = nullptr;
  Keyspace keyspace_;
  Keys snapshot_;

  struct Copy {
    Time at;  ///< the replica has it from then on
    Keys keys;
  };
  std::vector<Copy> replica_;  ///< what it has, then what is on the way
  Time replica_held_{};
  Clock replica_clock_;

  std::optional<Time> set_back_;       ///< when the clock was, last
  std::map<Token, Time> renewed_;      ///< by token: the last grant or renewal
  std::map<Token, Time> holds_right_;  ///< by hold: the last renewal that also cut a long life
  std::map<Token, Time> right_;        ///< by token: when it had its right life
  std::int64_t replica_started_ms_ = 0;
};

}  // namespace redlock::sim
