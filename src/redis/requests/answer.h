// SPDX-License-Identifier: MIT
//
// Reads replies as lock::Answer, and the numbers, times and records in them. Answers are untrusted:
// a value that does not fit gives nothing. Absent on purpose: what follows from an answer (lock/).
#pragma once

#include <chrono>

#include "lock/vote.h"
#include "redis/requests/request.h"
#include "redis/wire/resp.h"

namespace redlock::redis {

/// Reads the reply to the first command of a flight. A reply that our scripts never give is
/// Unreachable: an error to an acquire means "maybe granted" (a failing script does not roll back).
lock::Answer read_answer(lock::Op op, const LockContext& context, const Value& reply);

/// The answer, unless fewer than `replicas` replicas have the result. `waited`: the reply to WAIT.
lock::Answer read_waited(lock::Answer answer, const Value& waited, unsigned replicas);

/// The server says that it is a replica of `primary` ("host:port", from its reply).
lock::Unreachable replica_of(std::string_view primary);

/// Whether the reply is an array of these types: 's' a string, 'i' an integer, 'a' an array.
bool fits(const Value& reply, std::string_view types);

/// Numbers travel as text: a Lua number would lose digits beyond 2^53 unnoticed.
std::optional<std::uint64_t> read_number(const Value& value);
std::optional<std::uint64_t> read_number(std::string_view text);

/// Milliseconds, from 0 to the longest time that can be added to an instant.
std::chrono::milliseconds read_length(const Value& value);

/// When the waiter shall ask: immediately, after the turn of the waiter before it, or when the lock
/// has cooled. Nothing if it is no wake-up of ours.
std::optional<lock::Duration> read_wake_up(std::string_view text);

/// Untrusted, like everything from a server.
struct Waiter {
  std::string id;
  std::chrono::milliseconds waited;  ///< since it joined the queue
  std::string who;                   ///< JSON as the waiter stored it, empty if unknown
};

struct Queue {
  std::size_t length = 0;
  std::vector<Waiter> first;  ///< the first ones, in their order; at most 20
};

/// How often runs on one host gave up because another one had the lock. Untrusted.
struct GivenUp {
  std::string host;
  std::uint64_t count;
  std::chrono::milliseconds ago;  ///< the last time
  std::string who;                ///< JSON as the host stored it
};

/// The answer to encode_refusals(); empty if the user may not read them.
std::vector<GivenUp> read_refusals(const Value& reply);

/// The answer to encode_waiting(), if the user may read the queue.
std::optional<Queue> read_waiting(const Value& reply);

struct Taken {
  /// Released if the server has carried the request out, Missing or NotMine if the key is missing
  /// or has changed.
  lock::Answer answer;
  /// Of encode_revoke(): how many subscribers received the notice, and the tokens of the readers
  /// from which the lock was revoked.
  std::optional<std::int64_t> notified{};
  std::vector<std::string> readers{};
  bool before = false;  ///< of encode_revoke(): the lock had been revoked already
};

/// The answer to encode_revoke() or encode_remove().
Taken read_taken(const Value& reply);

/// {'done', age, time left, who}
std::optional<lock::Done> read_done(const Value& reply);

/// Reads the mark of the last successful build.
std::optional<lock::Superseded> read_built(const Value& reply);

}  // namespace redlock::redis
