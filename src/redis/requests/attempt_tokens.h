// SPDX-License-Identifier: MIT
//
// The tokens of our attempts. Absent on purpose: the kinds of attempts and the end of one (lock/);
// other processes that know a token.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "lock/vote.h"
#include "redis/requests/request.h"

namespace redlock::redis {

/// One token per attempt: 160 bits from getrandom(2), drawn when the attempt is first named. A
/// token never changes and is never used for another attempt.
class AttemptTokens {
 public:
  /// `held_token`: of the lock that an ancestor holds, for attempts that join it; empty: none.
  /// `shared`: all other attempts are a reader's. `slots`: of the lock; 0: it has none.
  explicit AttemptTokens(std::string held_token, bool shared = false, std::size_t slots = 0);

  /// Draws them if the attempt has none yet: for that slot of the lock, if it has slots. The
  /// reference stays valid.
  const Secrets& of(lock::AttemptId attempt, std::size_t slot = 0);

  /// An attempt of another process, which took the lock with this token.
  void adopt(lock::AttemptId attempt, const std::string& token);

  /// The token of an attempt that has one, 40 hex digits.
  [[nodiscard]] const std::string& token(lock::AttemptId attempt) const;

 private:
  std::string held_token_;
  bool shared_;
  std::size_t slots_;
  std::map<lock::AttemptId, Secrets> secrets_;
};

}  // namespace redlock::redis
