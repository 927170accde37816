// SPDX-License-Identifier: MIT
//
// Who holds a lock, judged from outside by what the servers say: for those who look at a lock and
// do not ask for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lock/vote.h"

namespace redlock::lock {

/// What one server has where the lock is kept. Untrusted.
struct Sighting {
  enum class Kind {
    nothing,
    value,  ///< a lock, ours or another program's
    other,  ///< something that can be no lock of ours
  };
  Kind kind = Kind::nothing;
  std::string value;  ///< the token, or as lock/value.h has it; or anything. other: what it is
  std::optional<std::chrono::milliseconds> ttl_left;  ///< none: it never expires
  std::string holder;       ///< who that is (JSON as stored by the holder), empty if not known
  std::uint64_t fence = 0;  ///< this server's number of that token, 0 if it has none
  unsigned holds = 0;       ///< how many hold it, the first one and those that joined; 0: not known
  std::string owner;        ///< other: who holds it, if that is known
  std::int64_t count = 0;   ///< other: how often the owner holds it
  std::string run{};        ///< what the log calls the token's run; empty: no string
};

using Seen = std::variant<Sighting, Unreachable>;

enum class State {
  free,
  held,
  cooling,    ///< the job is over, its minimum hold is not
  revoked,    ///< held, and about to be taken from its holder
  foreign,    ///< a key of another program
  undecided,  ///< no quorum says one and the same
};

/// What it is by one server's word; never undecided.
State state_of(const Sighting& sighting);

/// What a quorum of the configured servers says.
struct Judgement {
  State state = State::undecided;
  std::vector<ServerIndex> agreeing;  ///< who says so; when undecided: nobody
  std::size_t answered = 0;           ///< how many servers could be asked
  /// The fencing number of the holder; 0 unless a quorum has one and the same. (A server that had
  /// no part in the grant's number may have another one.)
  std::uint64_t fence = 0;
};

/// `seen`: one for each configured server.
Judgement judge(const std::vector<Seen>& seen);

}  // namespace redlock::lock
