// SPDX-License-Identifier: MIT
//
// What a client sends to a simulated server, and what it makes of the answer: by redlock's own
// code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lock/vote.h"
#include "redis/requests/request.h"
#include "token.h"

namespace redlock::sim {

/// The tokens of one process, as redis/servers/server_set.h has them: each attempt has one of
/// its own, for the slot that its first acquire asks for.
class AttemptTokens {
 public:
  /// `inherited`: the token of the job that the process runs in.
  void begin(std::uint32_t client, std::uint32_t session, const Mode& mode, Token inherited) {
    client_ = client;
    session_ = session;
    mode_ = mode;
    inherited_ = inherited;
    slots_.clear();
  }
  void asks(const lock::Ask& ask) {
    const auto* acquire = ask.as<lock::op::Acquire>();
    const bool known = !slots_.empty() && slots_.back().first == ask.attempt;
    if (acquire != nullptr && acquire->slot != 0 && !known) {
      slots_.emplace_back(ask.attempt, acquire->slot);
    }
  }
  /// What the attempt puts into the lock's key, or the list of holds.
  [[nodiscard]] Token own(lock::AttemptId attempt) const {
    const auto known = std::ranges::find(slots_.rbegin(), slots_.rend(), attempt, &Slot::first);
    const std::size_t slot = known == slots_.rend() ? 0 : known->second;
    return for_mode(own_token(client_, session_, attempt), mode_, slot);
  }
  /// Of the lock that it asks for: a joining one's is another's.
  [[nodiscard]] Token lock(lock::AttemptId attempt) const {
    return lock::is_join(attempt) ? inherited_ : own(attempt);
  }
  [[nodiscard]] Waiter waiter() const { return for_mode(make_token(client_, session_, 0), mode_); }

 private:
  using Slot = std::pair<lock::AttemptId, std::size_t>;

  std::uint32_t client_ = 0;
  std::uint32_t session_ = 0;
  Mode mode_;
  Token inherited_ = kNoToken;
  std::vector<Slot> slots_;
};

/// The same for every request on the lock.
struct LockSettings {
  std::int64_t restart_grace_s = 0;
  std::int64_t ttl_ms = 0;
};

/// The commands, and what the simulator wants to know of them.
struct Request {
  lock::Op op = lock::Op::acquire;
  Token token = kNoToken;
  Token hold = kNoToken;      ///< the token itself, or that of a process that joins it
  bool cuts = false;          ///< a renewal that knows of a long life
  Waiter waiter = kNoWaiter;  ///< acquire with a ticket, leave_queue, and to join the queue
  std::chrono::seconds restart_grace{};  ///< the client's, for the answer
  bool joins_queue = false;              ///< lock::JoinQueue, which is no Ask: `op` says nothing
  std::vector<redis::Command> commands{};
};

/// Of a process that is this waiter. It says nothing about itself but that.
redis::LockContext lock_context(const std::string& lock_key, Waiter waiter,
                                const LockSettings& settings);

/// The commands of a request, and all the rest of it. An acquire without an attempt joins the
/// queue.
redis::Flight encode(const lock::Ask& ask, const redis::LockContext& context,
                     const AttemptTokens& tokens);
Request describe(const lock::Ask& ask, const redis::LockContext& context,
                 const AttemptTokens& tokens);
/// `redlock release NAME TOKEN`, by the owner of a lock that another process keeps.
Request encode_owners_release(Token token, const redis::LockContext& context);

/// A release that left nothing, neither a cooling key nor another's hold.
bool is_released(const lock::Answer& answer);

}  // namespace redlock::sim
