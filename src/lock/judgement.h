// SPDX-License-Identifier: MIT
//
// Judges from outside who holds a lock, from the answers of the servers: for commands that look at
// a lock and do not ask for it, and for those that take a lock from its holder by force. What the
// holder does then stands in lock/running_job.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "lock/vote.h"

namespace redlock::lock {

/// One of those that hold a shared lock, as a server shows it. Untrusted.
struct Reader {
  std::string token;
  std::chrono::milliseconds left;  ///< until it counts no more there, unless it renews
  std::string holder;              ///< as in Sighting
  std::uint64_t fence = 0;
  std::string run{};  ///< as in Sighting
};

/// What one server shows for a lock. Untrusted.
struct Sighting {
  enum class Kind {
    nothing,
    value,  ///< a lock, ours or another program's
    other,  ///< something that cannot be a lock of ours
  };
  Kind kind = Kind::nothing;
  std::string value;  ///< the token, another form of lock/value.h, or anything. other: its type
  std::optional<std::chrono::milliseconds> ttl_left;  ///< none: it never expires
  std::chrono::milliseconds lease_left{};  ///< by its last renewal, may be over; else ttl_left
  std::string holder;                      ///< the holder (JSON as it stored it), empty if unknown
  std::uint64_t fence = 0;  ///< this server's number for that token, 0 if it has none
  unsigned holds = 0;       ///< how many processes hold it, with those that joined; 0: unknown
  std::string owner;        ///< other: the process that holds it, if known
  std::int64_t count = 0;   ///< other: how often the owner holds it
  std::string run{};        ///< the name of the token's run in the log; empty: the key is no string
  std::vector<Reader> readers{};  ///< of a shared lock; the first 100
  std::size_t reader_count = 0;   ///< how many there are, at least those
};

using Seen = std::variant<Sighting, Unreachable>;

enum class State {
  free,
  held,
  cooling,    ///< the job is over, its minimum hold is not
  revoked,    ///< held, and being taken from its holder
  foreign,    ///< a key of another program
  undecided,  ///< no quorum agrees
};

/// The state according to one server; never undecided.
State state_of(const Sighting& sighting);

/// The token of the redlock lock that a server shows. Empty if it shows none of redlock's.
std::string_view owner_of(const Sighting& sighting);

/// What a quorum of the configured servers says.
struct Judgement {
  State state = State::undecided;
  std::vector<ServerIndex> agreeing;  ///< the servers that say so; undecided: none
  std::size_t answered = 0;           ///< how many servers answered
  /// The fencing number of the holder; 0 unless a quorum has the same number. (A server that had no
  /// part in the agreement on the number may have another one.)
  std::uint64_t fence = 0;
};

/// `seen`: one for each configured server.
Judgement judge(const std::vector<Seen>& seen);

/// The answers of the servers that showed a lock and were asked to take it away, counted.
struct Tally {
  std::size_t taken = 0;    ///< the lock was revoked, or deleted
  std::size_t gone = 0;     ///< the lock was gone already, or is cooling
  std::size_t changed = 0;  ///< the key held something else
  std::size_t failed = 0;   ///< the result is unknown
};

/// `answers`: the answers to the revocations, by server; none for a server that was not asked.
/// `seen`: what the servers showed before.
Tally count(const std::vector<std::optional<Answer>>& answers, const std::vector<Seen>& seen);

enum class TakeoverResult {
  yes,
  gone,         ///< the holder has released the lock since
  changed,      ///< another process has got the lock since
  unreachable,  ///< too few servers took it away: the holder may go on
};

/// The result of a revocation: a holder without N - quorum + 1 servers has lost its lock.
TakeoverResult revoked(const Tally& tally, std::size_t servers);

/// The result of a deletion: another process can get the lock once a quorum has nothing there.
/// `free`: the number of servers that had nothing before and were not asked.
TakeoverResult removed(const Tally& tally, std::size_t free, std::size_t servers);

}  // namespace redlock::lock
