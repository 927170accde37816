// SPDX-License-Identifier: MIT
//
// A Redis server as far as one lock goes: what src/redis/scripts/*.lua do, line by line, on the
// server's own clock. redlock_model_check holds it against a real server. Absent on purpose: the
// wire (network.h) and when a server is up (world.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "clock.h"
#include "holder_hash.h"
#include "lock/vote.h"
#include "mutation.h"
#include "queue.h"
#include "request.h"
#include "token.h"

namespace redlock::sim {

class Server {
 public:
  struct Fence {
    bool exists = false;
    std::uint64_t value = 0;
    std::uint32_t run_id = 0;
  };
  struct Key {
    Token value = kNoToken;
    std::int64_t expires_ms = 0;
  };
  /// In the fence hash: a token that was released by its owner, or by its keeper only.
  struct Note {
    Token token;
    bool keepers;
    std::int64_t ends_ms;
  };
  struct Done {
    std::int64_t began_ms = 0;  ///< 0: there is no mark
    std::int64_t expires_ms = 0;
  };
  struct Reader {
    Token token;
    std::int64_t ends_ms;
  };
  /// They count if the lock's key has this value.
  struct Readers {
    Token value = kNoToken;
    std::vector<Reader> list;
    std::int64_t expires_ms = 0;
  };
  struct Data {
    Key lock;
    Key dead;                         ///< the tombstone
    std::vector<Token> dead_readers;  ///< it names them if the lock was shared
    Readers readers;
    Done done;
    Fence fence;
    std::vector<Note> notes;
    HolderHash holder;
    Queue queue;
  };

  Server() = default;
  /// `clock` shows the time of day. Up since `started_ms` on it.
  void reset(std::uint32_t index, const Clock& clock, std::int64_t started_ms,
             const LockSettings& settings, Mutation mutation);
  /// Where its PUBLISH goes; nobody hears it before that.
  void set_publish(Queue::Publish publish) { publish_ = std::move(publish); }
  /// An operator sets it.
  void set_clock(const Clock& clock) { clock_ = clock; }

  /// Runs a script.
  Response execute(const Request& request, Time now);

  void take_snapshot() { snapshot_ = data_; }
  /// Its replica has what is there now after `lag`, and not before what came earlier. Returns when.
  Time replicate(Time now, Time lag);
  /// The replica gets nothing before that.
  void hold_replica(Time until) { replica_held_ = until; }
  /// The server is dead. There is what its replica has, and nobody answers until promote().
  void lose_primary(Time now);
  /// The replica, which has been up for long, is in its place, and the dead server its replica.
  void promote(Time now);
  void set_replica(const Clock& clock) { replica_clock_ = clock; }
  /// How long it keeps the token, as far as the data of now goes and by its replica's clock, in ms.
  [[nodiscard]] std::int64_t left(Token token, Time now) const;
  [[nodiscard]] std::int64_t left_on_replica(Token token, Time now) const;

  enum class Restart { kept, snapshot, empty };
  void restart(Restart how, Time now);

  /// Another program's SET key value NX PX.
  void set_foreign(Token value, std::int64_t ttl_ms, Time now);
  void flush() {
    forget_data();
    ++memory_;
  }
  /// revoke.lua and remove.lua. True if it was done.
  bool revoke(Token token, Time now);
  /// False if the lock is somebody else's.
  bool remove(Token token, Time now);
  /// The same for a lock with this value, which is shared. `readers`: as they were seen elsewhere.
  bool remove_shared(Token value, const std::vector<Token>& readers, Time now);

  /// What is in the lock's key.
  [[nodiscard]] Token owner(Time now) const;
  [[nodiscard]] bool lasts(Token token, Time until) const;  ///< it is there, and will be then
  /// Those that hold the lock, if it is shared.
  [[nodiscard]] std::vector<Token> readers(Time now) const;
  [[nodiscard]] bool is_released(Token token) const;
  [[nodiscard]] std::int64_t now_ms(Time now) const {
    return clock_.shown(now).count() / 1'000'000;
  }
  [[nodiscard]] std::uint32_t run_id() const { return index_ * 1000 + life_; }
  /// Another one after each restart and each FLUSHALL: what was noted before may be forgotten.
  [[nodiscard]] std::uint32_t memory() const { return memory_; }
  [[nodiscard]] Data& data() { return data_; }

 private:
  Response run_script(const Request& request, std::int64_t now);
  Response acquire(const Request& request, std::int64_t now);
  Response grant(const Request& request, Trace trace, bool ours, std::int64_t now);
  [[nodiscard]] Trace trace() const;
  [[nodiscard]] std::optional<Response> fresh(Trace trace, bool ours, std::int64_t now) const;

  /// As readers.lua has it.
  struct Standing {
    Token shared = kNoToken;  ///< the lock's value, if the list counts
    bool revoked = false;
    std::int64_t ends_ms = 0;  ///< 0: we stand nowhere
    bool ours = false;
  };
  [[nodiscard]] Standing stand(Token token, std::int64_t now) const;
  /// As slots.lua has it, for our token.
  struct Slots {
    bool fits = false;                      ///< the lock is shared by holders of our kind
    std::array<Token, kMostSlots> taken{};  ///< by slot, from 0
    std::int64_t soonest_ms = INT64_MAX;    ///< when the first of them stops counting
    Token occupant = kNoToken;              ///< another one that has our slot
    std::int64_t occupant_ends_ms = 0;
  };
  [[nodiscard]] Slots slots(Token token, const Standing& standing, std::int64_t now) const;
  [[nodiscard]] bool has_free_slot(std::int64_t now) const;
  Response refuse_slot(const Request& request, Response refusal, const Slots& slots,
                       std::int64_t now);
  Response acquire_slot(const Request& request, std::int64_t now);
  void seat(const Request& request, const Standing& standing, std::int64_t now);
  void enter(Token token, const Standing& standing, std::int64_t life_ms, std::int64_t now);
  void exit(Token token, std::int64_t now);
  Response run_for_listed(const Request& request, std::int64_t now);
  Response acquire_shared(const Request& request, std::int64_t now);
  Response commit_shared(const Request& request, std::int64_t now);
  Response renew_shared(const Request& request, std::int64_t now);
  Response repair_shared(const Request& request, std::int64_t now);
  Response release_shared(const Request& request, std::int64_t now);
  Response leave_shared(const Request& request, std::int64_t now);
  Response raise(const Request& request, std::int64_t now);
  [[nodiscard]] std::optional<bool> joined_by_others(const Request& request,
                                                     std::int64_t now) const;
  void drop_hold(const Request& request, std::int64_t now);
  void bury(Token token, std::vector<Token> readers, std::int64_t until);
  Response refuse(const Request& request, Response refusal, std::int64_t now);
  Response join_queue(const Request& request, std::int64_t now);
  Response leave_queue(const Request& request, std::int64_t now);
  void wake_next(std::int64_t now);
  void forget_data();
  Response commit(const Request& request, std::int64_t now);
  Response mark(const Request& request, std::int64_t now);
  Response unmark(const Request& request);
  Response renew(const Request& request, std::int64_t now);
  Response repair(const Request& request, std::int64_t now);
  Response release(const Request& request);
  Response leave(const Request& request, std::int64_t now);
  bool note(const Request& request, std::int64_t life_ms, std::int64_t now);
  void hold(const Request& request, std::int64_t now);
  [[nodiscard]] bool is_dead(Token token) const;
  [[nodiscard]] Response refusal(std::int64_t now) const;
  std::uint64_t next_fence(Trace trace, std::int64_t now);
  void expire(std::int64_t now);

  std::uint32_t index_ = 0;
  std::uint32_t life_ = 1;
  std::uint32_t memory_ = 1;
  Clock clock_;
  std::int64_t started_ms_ = 0;
  LockSettings settings_;
  Mutation mutation_ = Mutation::none;
  Queue::Publish publish_ = [](Waiter, const WakeUp&) { return false; };
  Data data_;
  Data snapshot_;

  struct Copy {
    Time at;  ///< the replica has it from then on
    Data data;
  };
  std::vector<Copy> replica_;  ///< what it has, then what is on the way
  Time replica_held_{};
  Clock replica_clock_;
  std::int64_t replica_started_ms_ = 0;
  bool failed_over_ = false;
};

}  // namespace redlock::sim
