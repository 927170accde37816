// SPDX-License-Identifier: MIT
//
// Taking a lock from its holder by force: how many servers that needs. This is for the process that
// takes the lock; what the holder does then stands in lock/lease.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock/judgement.h"
#include "lock/vote.h"

namespace redlock::lock {

/// The token of the redlock lock that a server shows. Empty if it shows no lock, or another
/// program's.
std::string_view owner_of(const Sighting& sighting);

/// The answers of the servers that showed a lock and were asked to take it away, counted.
struct Tally {
  std::size_t taken = 0;    ///< the lock was revoked, or deleted
  std::size_t gone = 0;     ///< the lock was gone already, or is cooling
  std::size_t changed = 0;  ///< the key held something else
  std::size_t failed = 0;   ///< the result is unknown
};

/// `answers`: the answers to Revoker's requests, by server; none for a server that was not asked.
/// `seen`: what the servers showed before.
Tally count(const std::vector<std::optional<Answer>>& answers, const std::vector<Seen>& seen);

enum class TakeoverResult {
  yes,
  gone,         ///< the holder has released the lock meanwhile
  changed,      ///< another process has the lock meanwhile
  unreachable,  ///< too few servers took it away: the holder may go on
};

/// The result of a revocation: a holder without N - quorum + 1 servers has lost its lock.
TakeoverResult revoked(const Tally& tally, std::size_t servers);

/// The result of a deletion: another process can get the lock once a quorum has nothing there.
/// `free`: the number of servers that had nothing before and were not asked.
TakeoverResult removed(const Tally& tally, std::size_t free, std::size_t servers);

}  // namespace redlock::lock
