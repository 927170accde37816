// SPDX-License-Identifier: MIT
//
// The hash that a server keeps of a lock's holders: who they are, their fencing numbers, and who
// else holds the lock with them.
#pragma once

#include <cstdint>
#include <vector>

#include "token.h"

namespace redlock::sim {

struct HolderHash {
  static constexpr std::int64_t kNever = INT64_MAX;
  /// The fields that belong to a token.
  struct Numbered {
    Token token;
    std::uint64_t fence;  ///< the number given to it; 0: none
    bool who;             ///< whether it says who that is
  };
  /// One more field: who holds a token.
  struct Hold {
    Token token;
    Token hold;
    std::int64_t ends_ms;
  };

  std::vector<Numbered> numbers;
  std::vector<Hold> holds;
  Token keep_token = kNoToken;  ///< that is to cool
  std::int64_t keep_until_ms = 0;
  std::int64_t expires_ms = kNever;  ///< when the hash ends, if there is one

  /// Its fields, which begin now if there are none.
  Numbered& numbered(Token token);
  [[nodiscard]] std::uint64_t number(Token token) const;
  void put_hold(Token token, Token hold, std::int64_t ends_ms);
  [[nodiscard]] bool is_held(Token token) const;
  void forget(Token token);
  void forget_all();
};

}  // namespace redlock::sim
