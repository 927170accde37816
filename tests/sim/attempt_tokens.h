// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "lock/vote.h"
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
    const bool known = !slots_.empty() && slots_.back().first == ask.attempt;
    if (ask.slot != 0 && !known) slots_.emplace_back(ask.attempt, ask.slot);
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

}  // namespace redlock::sim
