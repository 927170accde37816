// SPDX-License-Identifier: MIT
//
// The requests that take a lock away on one server, for `redlock release --force`. Each compares
// and sets: a key that has changed since the user saw it stays as it is. Absent on purpose: who
// holds the lock, and how many servers a takeover needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lock/judgement.h"
#include "lock/vote.h"
#include "redis/requests/request.h"
#include "redis/wire/resp.h"

namespace redlock::redis {

/// Revokes the lock `key` with this token: it gets `value`. The holder receives a notice, also if
/// the lock was revoked before.
Flight encode_revoke(const std::string& key, const std::string& token, const std::string& value);

/// Deletes the key that the user saw. `token`: of its lock; empty for a key of another program.
/// `readers`: the tokens of all that hold a shared lock, on any server.
Flight encode_remove(const std::string& key, const lock::Sighting& seen, const std::string& token,
                     const std::vector<std::string>& readers);

struct Taken {
  /// Released if the server has carried the request out, Missing or NotMine if the key is missing
  /// or has changed.
  lock::Answer answer;
  /// Of encode_revoke(): how many subscribers received the notice, and the tokens of the readers
  /// from which the lock was revoked.
  std::optional<std::int64_t> notified{};
  std::vector<std::string> readers{};
};

/// The answer to either request.
Taken read_taken(const Value& reply);

}  // namespace redlock::redis
