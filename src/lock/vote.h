// SPDX-License-Identifier: MIT
//
// What the state machine asks of a server, and what a server may answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lock/time.h"

namespace redlock::lock {

/// Index of a configured server, 0 to N-1.
using ServerIndex = std::size_t;

/// Number of an acquire attempt within this process, from 1. Every attempt has a token of its own;
/// the process that performs the effects keeps the tokens themselves (random secrets).
using AttemptId = std::uint32_t;

/// Attempts from here on join a lock that one of our ancestors holds: they share its token, and
/// their holds tell them apart.
inline constexpr AttemptId kFirstJoin = 0x8000'0000;
/// For requests that belong to no attempt.
inline constexpr AttemptId kNoAttempt = 0xffff'ffff;
constexpr bool is_join(AttemptId attempt) {
  return attempt >= kFirstJoin && attempt != kNoAttempt;
}

/// A place in the queue of waiters, the same on every server; smaller tickets are served first. A
/// server's clock in ms since 1970, or its last ticket plus one if that is larger. 0: none.
using Ticket = std::uint64_t;

/// What a server is asked to do, each with what it needs.
namespace op {

/// Take the lock if it is free (idempotent for one token), or join it.
struct Acquire {
  Duration life{};  ///< how long the key must live at least
  Duration once{};  ///< answer Done if a successful run began less than this ago. Zero: never
  /// The server puts us into its queue if it refuses, or keeps us there for another 20 s. 0: we are
  /// not in the queue, and every waiter stands before us.
  Ticket ticket = 0;
  std::size_t slot = 0;  ///< from 1; 0: the lock has no slots
  bool operator==(const Acquire&) const = default;
};

/// Give the lock this life again if it is ours.
struct Renew {
  Duration life{};    ///< as in Acquire
  bool cuts = false;  ///< the key lives much longer than the last one asked for: cut that
  bool operator==(const Renew&) const = default;
};

/// Put the key back where it is missing (SET NX) while a quorum holds.
struct Repair {
  Duration life{};  ///< as in Acquire
  bool operator==(const Repair&) const = default;
};

/// Raise the fencing number of our grant.
struct Commit {
  std::uint64_t fence = 0;
  bool operator==(const Commit&) const = default;
};

/// Record that a run was successful (--once, --build).
struct Mark {
  Duration life{};                    ///< how long the mark lasts, from `began` on
  std::chrono::milliseconds began{};  ///< when the run began, by the server's clock; 0: unknown
  Duration age{};                     ///< how long ago it began
  std::string who{};                  ///< whose run (JSON); empty: ours
  bool operator==(const Mark&) const = default;
};

/// Remove that mark.
struct Unmark {
  std::string who{};  ///< as in Mark
  bool operator==(const Unmark&) const = default;
};

/// Take the lock from its holder (--replace).
struct Revoke {
  std::string value{};  ///< for the key: it names the holder's token
  bool operator==(const Revoke&) const = default;
};

/// Delete the lock if it is ours; queued after all earlier requests.
struct Release {
  bool operator==(const Release&) const = default;
};

/// Give up our hold: the last hold deletes the lock, or lets it cool; queued as Release is.
struct Leave {
  Duration cools{};  ///< the rest of a minimum hold; zero: delete the key
  /// The owner has released the lock by the token, and its keeper only removes the rest.
  bool for_owner = false;
  bool holds = false;  ///< the lock does not cool, it becomes a maintenance hold
  bool operator==(const Leave&) const = default;
};

/// Has the lock's owner, another process than ours, released it by the token?
struct Inquire {
  bool operator==(const Inquire&) const = default;
};

/// Leave the queue of waiters. Belongs to no attempt.
struct LeaveQueue {
  bool has_lock = false;  ///< because we have got the lock
  bool operator==(const LeaveQueue&) const = default;
};

}  // namespace op

using Operation = std::variant<op::Acquire, op::Renew, op::Repair, op::Commit, op::Mark, op::Unmark,
                               op::Revoke, op::Release, op::Leave, op::Inquire, op::LeaveQueue>;

/// The kinds of operations, in their order.
enum class Op {
  acquire,
  renew,
  repair,
  commit,
  mark,
  unmark,
  revoke,
  release,
  leave,
  inquire,
  leave_queue
};
static_assert(std::variant_size_v<Operation> == static_cast<std::size_t>(Op::leave_queue) + 1);

/// Whether a request releases what an earlier request may have taken.
constexpr bool is_release(Op op) {
  return op == Op::release || op == Op::leave;
}

/// A request to one server. `round` only tells requests of the same kind apart.
struct Ask {
  ServerIndex server = 0;
  AttemptId attempt = 0;
  std::uint32_t round = 0;
  Operation operation{};

  [[nodiscard]] Op op() const { return static_cast<Op>(operation.index()); }
  /// Null: it asks for another operation.
  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&operation);
  }
  bool operator==(const Ask&) const = default;
};

/// acquire, repair: the key now holds our token for a full ttl.
struct Granted {
  /// INFO's run_id, which names the present life of the server: two servers with one run_id are the
  /// same server. Empty if the server does not tell us.
  std::string run_id;
  /// A freshly started server may have forgotten a lock that it granted in an earlier life: for
  /// this long its grant does not prove that the lock was free. Zero: it does.
  std::chrono::seconds distrusted_for{0};
  /// The server may be part of an installation that is just being set up: it has no trace of this
  /// name, or only traces of its present life, and that life is short.
  bool may_be_new = false;
  /// The fencing number that this server gave to the token; 0 if it gave none.
  std::uint64_t fence = 0;
  /// What the server's clock shows; 0: unknown.
  std::chrono::milliseconds clock{0};
};

/// acquire, repair: another process holds it, or it is the turn of a waiter before us. This proves
/// that our token is not on that server.
struct Refused {
  /// The value in the key, or what else it holds: type_of() in lock/value.h. Of a turn: the waiter.
  std::string blocker;
  /// Until the key expires, or the turn ends. None: the key never expires.
  std::optional<std::chrono::milliseconds> ttl_left;
  std::string holder;                  ///< the holder (JSON as it stored it), empty if unknown
  std::chrono::milliseconds clock{0};  ///< as in Granted
  bool turn = false;                   ///< the lock is free, but it is another waiter's turn
  Ticket ticket = 0;         ///< acquire: for a waiter that joins the queue now; 0: unknown
  std::size_t place = 0;     ///< acquire: ours in this server's queue, from 1; 0: we are not there
  std::size_t waiters = 0;   ///< acquire: how many stand in that queue, if we do
  bool maintenance = false;  ///< `holder` says that it is a maintenance hold
  std::string slots{};       ///< acquire of a slot: who has each slot, see SlotChoice
  /// acquire: we could share the lock with its holders, but this waiter comes before us and cannot
  /// (JSON as in `holder`, empty if unknown).
  std::optional<std::string> waits_before{};
};

/// acquire: not needed, a successful run began recently enough. Our token is not on that server.
struct Done {
  std::chrono::milliseconds age;   ///< since that run began
  std::chrono::milliseconds left;  ///< how long the server will go on answering this
  std::string who;                 ///< JSON as in Refused
};

/// mark: the server knows of that run, or of a later one.
struct Marked {};

/// acquire: a newer run makes ours needless. Our token is not on that server.
struct Superseded {
  std::uint64_t build = 0;          ///< it was successful; 0: it waits, or has got the lock
  std::chrono::milliseconds ago{};  ///< since that build succeeded
  std::string who;                  ///< JSON as in Refused
};

/// revoke: the lock is revoked from its holder, now or before.
struct Revoked {
  std::vector<std::string> readers{};  ///< of a shared lock: the tokens of its holders
  bool before = false;                 ///< another one had revoked it
};

/// renew: ours, with a full ttl from the time the request was sent.
struct Renewed {
  bool longer = false;  ///< much longer: others asked for that, or the server's clock was set back
};

/// commit: this request raised the server's number.
struct Committed {};

/// commit: it did not.
struct NotCommitted {
  std::uint64_t last;  ///< the server's number, 0 if it has none
};

/// release, leave: the lock was ours and is deleted, or cools for the rest of its minimum hold.
/// repair, inquire: the owner has released the lock by the token. leave_queue: we have left it.
struct Released {
  bool cooling = false;
  bool kept = false;  ///< other processes still hold it
  bool held = false;  ///< it has become a maintenance hold
};

/// renew, release, unmark: no such key. inquire: no such release.
struct Missing {};

/// renew, release: the key holds something else.
struct NotMine {
  std::string blocker;  ///< as in Refused
  /// It is our own lock, revoked: no other process gets it before its time to live has passed,
  /// unless it is deleted by force.
  bool revoked = false;
};

/// No usable answer.
struct Unreachable {
  bool maybe_applied = true;  ///< false: the request certainly never reached the server
  bool permanent = false;     ///< asking again cannot help (wrong password, not a Redis server…)
  std::string why;  ///< one line for a person, with what to do; empty: there was no answer
};

using Answer = std::variant<Granted, Refused, Renewed, Committed, NotCommitted, Released, Missing,
                            NotMine, Unreachable, Done, Superseded, Marked, Revoked>;

/// An answer to `ask`. After an Unreachable by time-out a second, real answer may follow if the
/// server answers late after all. `sent`: when the kernel took the request (or, if that is unknown,
/// an earlier time): leases count from it.
struct Reply {
  Ask ask;
  Instant sent;
  Answer answer;
};

/// Several lambdas as one visitor for std::visit.
template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace redlock::lock
