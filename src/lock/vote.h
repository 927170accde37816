// SPDX-License-Identifier: MIT
//
// What the state machine asks of a server, and what a server may answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "lock/time.h"

namespace redlock::lock {

/// Index of a configured server, 0 to N-1.
using ServerIndex = std::size_t;

/// Number of an acquire attempt within this process, from 1. Every attempt has a token of its own;
/// the tokens themselves (random secrets) are kept by whoever performs the effects.
using AttemptId = std::uint32_t;

/// Attempts from here on join a lock that one of our ancestors holds: they share its token, and are
/// told apart by their holds.
inline constexpr AttemptId kFirstJoin = 0x8000'0000;
/// Of requests that are of no attempt.
inline constexpr AttemptId kNoAttempt = 0xffff'ffff;
constexpr bool is_join(AttemptId attempt) {
  return attempt >= kFirstJoin && attempt != kNoAttempt;
}

enum class Op {
  acquire,  ///< take the lock if it is free (idempotent for one token), or join it
  renew,    ///< give it the full ttl again if it is ours
  repair,   ///< put the key back where it is missing (SET NX) while a quorum holds
  commit,   ///< raise the fencing number of our grant
  mark,     ///< note that a run was successful (--once)
  unmark,   ///< take that back
  release,  ///< delete it if it is ours; queued behind whatever was sent before
  leave,  ///< give up our hold: what was the last one deletes it, or lets it cool; queued likewise
  inquire,      ///< whether its owner has released it by the token, another process than ours
  leave_queue,  ///< stand in the queue of waiters no more; of no attempt
};

/// What gives back what an earlier request may have brought.
constexpr bool is_release(Op op) {
  return op == Op::release || op == Op::leave;
}

/// A request to one server. `round` only tells requests of the same kind apart.
struct Ask {
  ServerIndex server = 0;
  Op op = Op::acquire;
  AttemptId attempt = 0;
  std::uint32_t round = 0;
  std::uint64_t fence = 0;  ///< commit: the number
  /// acquire, renew, repair: the life the key shall have at least. leave: what is left of a
  /// minimum hold, for which the key stays as "cooling"; zero: it is deleted. mark: how long from
  /// `began` on.
  Duration life{};
  /// acquire: a successful run that began less than this ago is to be told instead. Zero: no.
  Duration once{};
  std::chrono::milliseconds began{};  ///< mark, unmark: of the run, by the server's clock
  std::string who{};                  ///< mark, unmark: whose run (JSON); empty: ours
  /// leave: its owner has released it by the token, and we, who renew it, only see to what is left.
  bool for_owner = false;

  friend bool operator==(const Ask&, const Ask&) = default;
};

/// acquire, repair: the key now holds our token for a full ttl.
struct Granted {
  /// Of the server's present life (INFO's run_id): two servers with one are the same server. Empty
  /// if the server does not let us know.
  std::string run_id;
  /// A freshly started server may have forgotten a lock it granted in an earlier life: for so long
  /// its grant is no witness that the lock was free. Zero: it is.
  std::chrono::seconds distrusted_for{0};
  /// Nothing speaks against the server being part of an installation that is just being set up: it
  /// has no trace of this name, or one of its present life, which is a short one.
  bool may_be_new = false;
  /// The fencing number this server gave to the token; 0 if it gave none.
  std::uint64_t fence = 0;
  /// What the server's clock shows, if that was asked for (Ask::once); 0: not known.
  std::chrono::milliseconds clock{0};
};

/// acquire, repair: somebody else holds it. Proof that our token is not on that server.
struct Refused {
  std::string
      blocker;  ///< the value in the key, or what else it holds: see type_of() in lock/value.h
  std::optional<std::chrono::milliseconds> ttl_left;  ///< none: the key never expires
  std::string holder;  ///< who that is (JSON as stored by the holder), empty if not known
  std::chrono::milliseconds clock{0};  ///< as in Granted
};

/// acquire: not needed, a successful run began recently enough. Our token is not on that server.
struct Done {
  std::chrono::milliseconds age;   ///< since that run began
  std::chrono::milliseconds left;  ///< for which the server will go on telling so
  std::string who;                 ///< JSON as in Refused
};

/// mark: the server knows of that run, or of a later one.
struct Marked {};

/// renew: ours, with a full ttl from the time the request was sent.
struct Renewed {};

/// commit: this request raised the server's number.
struct Committed {};

/// commit: it did not.
struct NotCommitted {
  std::uint64_t last;  ///< the server's number, 0 if it has none
};

/// release, leave: it was ours and is deleted; or cooling for the rest of its minimum hold. repair,
/// inquire: its owner has released it, by the token. leave_queue: we are in the queue no more.
struct Released {
  bool cooling = false;
  bool kept = false;  ///< others hold it still
};

/// renew, release, unmark: no such key. inquire: no such release.
struct Missing {};

/// renew, release: the key holds something else.
struct NotMine {
  std::string blocker;  ///< as in Refused
  /// It is our own lock, revoked: until its time to live has passed nobody else gets it, unless it
  /// is deleted by force.
  bool revoked = false;
};

/// No usable answer.
struct Unreachable {
  bool maybe_applied = true;  ///< false: the request certainly never reached the server
  bool permanent = false;     ///< asking again cannot help (wrong password, not a Redis server…)
  std::string why;            ///< one line for a person, with what to do; empty: no answer came yet
};

using Answer = std::variant<Granted, Refused, Renewed, Committed, NotCommitted, Released, Missing,
                            NotMine, Unreachable, Done, Marked>;

/// An answer to `ask`. After an Unreachable by time-out a second, real answer may follow when the
/// server answers late after all. `sent`: when the request was handed to the kernel (or, where that
/// is not known, an earlier time): leases are counted from it.
struct Reply {
  Ask ask;
  Instant sent;
  Answer answer;
};

}  // namespace redlock::lock
