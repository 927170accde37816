// SPDX-License-Identifier: MIT
//
// Taking a lock from its holder by force: how many servers it takes. For those who do it from
// outside; what a holder makes of it stands in lock/lease.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock/judgement.h"
#include "lock/vote.h"

namespace redlock::lock {

/// Whose lock of redlock's a server shows: the token. Empty if there is none, or another program's.
std::string_view owner_of(const Sighting& sighting);

/// What came of asking the servers that showed a lock to take it away.
struct Tally {
  std::size_t taken = 0;    ///< it was revoked, or deleted
  std::size_t gone = 0;     ///< there was nothing any more, or it is cooling
  std::size_t changed = 0;  ///< there was something else
  std::size_t failed = 0;   ///< not known
};

/// `answers`: those to Revoker's requests, by server, none where nothing was asked. `seen`: what
/// the servers had shown.
Tally count(const std::vector<std::optional<Answer>>& answers, const std::vector<Seen>& seen);

enum class TakeoverResult {
  yes,
  gone,         ///< the holder has given it back meanwhile
  changed,      ///< somebody else has it meanwhile
  unreachable,  ///< on too few servers: the holder may go on
};

/// Of a revocation: a holder without N - quorum + 1 servers has lost its lock.
TakeoverResult revoked(const Tally& tally, std::size_t servers);

/// Of a deletion: somebody else can have the lock once a quorum has nothing there. `free`: servers
/// that had nothing before, and were not asked.
TakeoverResult removed(const Tally& tally, std::size_t free, std::size_t servers);

}  // namespace redlock::lock
