// SPDX-License-Identifier: MIT
//
// A Redis server as far as one lock goes: what src/redis/scripts/*.lua do, line by line, on the
// server's own clock. redlock_model_check holds it against a real server. Absent on purpose: the
// wire (network.h) and when a server is up (world.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clock.h"
#include "lock/vote.h"
#include "mutation.h"

namespace redlock::sim {

/// What a key may hold: a token by its number. 0: nothing; the largest: a key that is no string.
using Token = std::uint32_t;
inline constexpr Token kNoToken = 0;
inline constexpr Token kForeignType = ~Token{0};
inline constexpr std::uint32_t kForeigner = 15;  ///< as a client: some other program

constexpr Token make_token(std::uint32_t client, std::uint32_t session, std::uint32_t attempt) {
  return 1U << 31U | client << 27U | (session & 0x3ffU) << 16U | (attempt & 0x7fffU);
}
constexpr std::uint32_t client_of(Token token) {
  return token >> 27U & 0xfU;
}
constexpr std::uint32_t session_of(Token token) {
  return token >> 16U & 0x3ffU;
}
/// An attempt's own, also if it is to join another's.
constexpr Token own_token(std::uint32_t client, std::uint32_t session, lock::AttemptId attempt) {
  return make_token(client, session,
                    lock::is_join(attempt) ? 0x4000U | (attempt & 0x3fffU) : attempt);
}
/// What a release with a minimum hold leaves in the key: the token, cooling.
constexpr Token cooling(Token token) {
  return token | 0x8000U;
}
constexpr bool is_cooling(Token value) {
  return value != kForeignType && (value & 0x8000U) != 0;
}
/// What a forced release leaves in the key: the token, revoked.
constexpr Token revoked(Token token) {
  return token | 1U << 26U;
}
constexpr bool is_revoked(Token value) {
  return value != kForeignType && (value & 1U << 26U) != 0;
}
/// Whose lock a value is.
constexpr Token plain(Token value) {
  return value == kForeignType ? value : value & ~(1U << 26U | 0x8000U);
}
/// "B3.2": client B, its third run, second attempt. Short enough not to be allocated.
std::string token_text(Token token);

/// Who gives up a hold: who has it, or the owner of the token, or for that one who renews the lock.
enum class By : std::uint8_t { holder, owner, keeper };

struct Request {
  lock::Op op;
  Token token;
  std::uint64_t fence;
  Token hold;                 ///< the token itself, or that of who joins it
  std::int64_t life_ms;       ///< lock::Ask::life
  std::int64_t once_ms = 0;   ///< lock::Ask::once
  std::int64_t began_ms = 0;  ///< lock::Ask::began
  By by = By::holder;         ///< leave
};

enum class Trace : std::uint8_t { none, present, earlier };

struct Response {
  enum class Word : std::uint8_t {
    granted,
    refused,
    fresh,
    committed,
    not_committed,
    renewed,
    released,
    cooling,
    kept,
    missing,
    not_mine,
    done,
    marked
  };
  Word word;
  Trace trace = Trace::none;
  Token value = kNoToken;    ///< refused, not_mine
  std::int64_t pttl = 0;     ///< refused, done
  std::uint32_t run_id = 0;  ///< granted; 0: not told (a repair)
  std::int64_t uptime = 0;   ///< granted, fresh
  std::uint64_t fence = 0;   ///< granted; not_committed: the last one
  std::int64_t clock = 0;    ///< granted, refused
  std::int64_t age = 0;      ///< done
  bool revoked = false;      ///< not_mine: lock::NotMine::revoked
};

/// The same for every request on the lock.
struct LockSettings {
  std::int64_t restart_grace_s = 0;
  std::int64_t ttl_ms = 0;
};

/// redis/request.cc: what the client makes of a reply.
lock::Answer read_answer(const Response& response, const LockSettings& settings, Mutation mutation);

class Server {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;
  struct Fence {
    bool exists = false;
    std::uint64_t value = 0;
    std::uint32_t run_id = 0;
  };
  struct Key {
    Token value = kNoToken;
    std::int64_t expires_ms = 0;
  };
  /// The fields of the holder hash that belong to a token.
  struct Numbered {
    Token token;
    std::uint64_t fence;  ///< the number given to it; 0: none
    bool who;             ///< whether it says who that is
  };
  /// One more field of the holder hash: who holds a token.
  struct Hold {
    Token token;
    Token hold;
    std::int64_t ends_ms;
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
    std::vector<Numbered> holders;
    std::vector<Hold> holds;
    Token keep_token = kNoToken;  ///< that is to cool
    std::int64_t keep_until_ms = 0;
    std::int64_t holders_expire_ms = kNever;  ///< when the hash ends, if there is one
  };

  Server() = default;
  /// `clock` shows the time of day. Up since `started_ms` on it.
  void reset(std::uint32_t index, const Clock& clock, std::int64_t started_ms,
             const LockSettings& settings, Mutation mutation);

  /// Runs a script.
  Response execute(const Request& request, Time now);

  void take_snapshot() { snapshot_ = data_; }
  enum class Restart { kept, snapshot, empty };
  void restart(Restart how, Time now);

  /// Another program's SET key value NX PX.
  void set_foreign(Token value, std::int64_t ttl_ms, Time now);
  void flush() {
    data_ = {};
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
  Response acquire(const Request& request, std::int64_t now);
  Response commit(const Request& request, std::int64_t now);
  Response mark(const Request& request, std::int64_t now);
  Response unmark(const Request& request);
  Response renew(const Request& request, std::int64_t now);
  Response repair(const Request& request, std::int64_t now);
  Response release(const Request& request);
  Response leave(const Request& request, std::int64_t now);
  bool note(const Request& request, std::int64_t life_ms, std::int64_t now);
  void hold(const Request& request, std::int64_t now);
  void put_hold(const Request& request, std::int64_t now);
  void forget(Token token);
  [[nodiscard]] bool is_held(Token token) const;
  void forget_all();
  [[nodiscard]] bool is_dead(Token token) const { return data_.dead.value == token; }
  [[nodiscard]] Response refusal(std::int64_t now) const;
  std::uint64_t next_fence(Trace trace, std::int64_t now);
  Numbered& numbered(Token token);
  [[nodiscard]] std::uint64_t number(Token token) const;
  void expire(std::int64_t now);

  std::uint32_t index_ = 0;
  std::uint32_t life_ = 1;
  std::uint32_t memory_ = 1;
  Clock clock_;
  std::int64_t started_ms_ = 0;
  LockSettings settings_;
  Mutation mutation_ = Mutation::none;
  Data data_;
  Data snapshot_;
};

}  // namespace redlock::sim
