// SPDX-License-Identifier: MIT
//
// Is the simulated server (server.h) the real one? Sends random sequences of requests to a Redis
// server, the way redis/ sends them, and to the model; in between it does by hand what happens to
// keys: they expire, others set them, the server gets another life. Every answer and every key left
// must be the same on both sides. For the queue of waiters see queue_check.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lock/vote.h"
#include "random.h"
#include "real_server.h"
#include "redis/requests/request.h"
#include "server.h"

namespace redlock::sim {

class LockCheck {
 public:
  /// With a mistake in the model there must be a difference.
  LockCheck(const std::string& socket, std::uint64_t seed, Mutation mutation = Mutation::none);

  /// One sequence, with empty keys and a restart grace of its own. False: there was a difference,
  /// and story() tells it.
  bool sequence(std::uint64_t number);

  [[nodiscard]] const std::string& story() const { return story_; }

 private:
  static constexpr std::int64_t kTtlMs = 60'000;
  static constexpr std::int64_t kLoadedMachineMs = 5'000;  // both clocks may be apart that much
  static constexpr const char* kKey = "model";
  static constexpr const char* kHolder = "redlock:{model}:holder";
  static constexpr const char* kFence = "redlock:{model}:fence";
  static constexpr const char* kDead = "redlock:{model}:dead";
  static constexpr const char* kDone = "redlock:{model}:done";
  static constexpr const char* kReaders = "redlock:{model}:readers";

  /// Three writers, three readers, three that have a slot of two, and one with a slot of three.
  static constexpr std::uint32_t kTokens = 10;
  static Token token_of(std::uint32_t number) {
    const auto slots = static_cast<std::uint8_t>(number <= 6 ? 0 : number == kTokens ? 3 : 2);
    return for_mode(make_token(0, 1, number), {.reads = number > 3 && number <= 6, .slots = slots},
                    1 + number % 2);
  }

  bool ask();
  std::string words(lock::Op op, const lock::Answer& answer) const;
  bool close(const lock::Answer& real, const lock::Answer& model);
  void adopt(const lock::Answer& real, const lock::Answer& model);
  bool interfere();
  Token force_target();
  bool reader_dies();
  bool revoke(Token token, Time now);
  bool remove(Token token, Time now);

  /// What the real server has; lives in ms, as PTTL tells them.
  struct RealKeys {
    std::string lock;  ///< its type, unless that is a string
    std::int64_t lock_left;
    std::vector<redis::Value> fence;  ///< value, run_id, released
    std::string dead;
    std::int64_t dead_left;
    std::int64_t holder_left;
    std::string done;
  };
  RealKeys read_keys();
  bool same_keys();
  bool same_readers(std::int64_t now);
  static std::string listed(std::uint32_t number, std::int64_t left);
  bool same_tombstone(const RealKeys& keys, std::int64_t now);
  bool same_life_of_holders(const RealKeys& keys, std::int64_t now);
  bool same_mark(const RealKeys& keys);
  bool same_notes(const RealKeys& keys);
  bool same_holders();

  RealServer redis_;
  Random random_;
  Mutation mutation_;
  Server model_;
  LockSettings settings_;
  redis::LockContext context_{.lock_key = kKey,
                              .holder_key = kHolder,
                              .fence_key = kFence,
                              .dead_key = kDead,
                              .done_key = kDone,
                              .readers_key = kReaders,
                              .waiter = {},
                              .ttl = std::chrono::milliseconds(kTtlMs),
                              .holder_json = "{}"};
  std::uint32_t first_ = 1;  ///< of the tokens that take part in the sequence
  std::string run_id_;
  std::int64_t uptime_ = 0;
  std::string story_;
};

}  // namespace redlock::sim
