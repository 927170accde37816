// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock/effect.h"

namespace redlock::diag {

/// Who takes a lock from its holder: the note in a revoked lock's value (redlock-protocol(7)).
/// Nothing is decided by it.
struct Revocation {
  std::string host;
  std::string user;
  long pid = 0;
  std::chrono::milliseconds since{};  ///< Unix time by that host's clock
};

/// What the key of a lock with this token holds once it is revoked: less than 600 bytes.
std::string revoked_value(std::string_view token, const Revocation& revocation);

/// From what a server has in the lock's key, of which nothing is to be trusted. None if it is not
/// revoked, or does not say by whom.
std::optional<Revocation> read_revocation(std::string_view value);

/// "ops@bastion (pid 4711)", safe to print.
std::string describe(const Revocation& revocation);

/// From word to the holder: "revoked" and the same note.
std::optional<Revocation> revocation_in_word(std::string_view text);

/// " by ops@bastion (pid 4711)" if one of the servers says that the lock was revoked, "" if it is
/// not known by whom; none if it was not revoked. `heard`: word that came, and is believed if the
/// lock is gone without a trace (it was deleted at once).
std::optional<std::string> revoked_by(const std::vector<lock::Complaint>& complaints,
                                      std::string_view heard);

}  // namespace redlock::diag
