// SPDX-License-Identifier: MIT
//
// A Redis server as far as one lock goes: what src/redis/scripts/*.lua do, line by line, on the
// server's own clock. redlock_model_check holds it against a real server. Absent on purpose: the
// wire (network.h) and when a server is up (world.h).
#pragma once

#include <cstdint>
#include <vector>

#include "clock.h"
#include "holder_hash.h"
#include "line.h"
#include "lock/vote.h"
#include "mutation.h"
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
  struct Data {
    Key lock;
    Key dead;  ///< the tombstone
    Done done;
    Fence fence;
    std::vector<Note> notes;
    HolderHash holder;
    Line line;
  };

  Server() = default;
  /// `clock` shows the time of day. Up since `started_ms` on it.
  void reset(std::uint32_t index, const Clock& clock, std::int64_t started_ms,
             const LockSettings& settings, Mutation mutation);
  /// Where its PUBLISH goes; nobody hears it before that.
  void set_publish(Line::Publish publish) { publish_ = std::move(publish); }
  /// An operator sets it.
  void set_clock(const Clock& clock) { clock_ = clock; }

  /// Runs a script.
  Response execute(const Request& request, Time now);

  void take_snapshot() { snapshot_ = data_; }
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

  /// What is in the lock's key.
  [[nodiscard]] Token owner(Time now) const;
  [[nodiscard]] bool lasts(Token token, Time until) const;  ///< it is there, and will be then
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
  Response refuse(const Request& request, Response refusal, std::int64_t now);
  Response join_line(const Request& request, std::int64_t now);
  Response leave_line(const Request& request, std::int64_t now);
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
  [[nodiscard]] bool is_dead(Token token) const { return data_.dead.value == token; }
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
  Line::Publish publish_ = [](Waiter, const WakeUp&) { return false; };
  Data data_;
  Data snapshot_;
};

}  // namespace redlock::sim
