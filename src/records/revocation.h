// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::records {

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

/// From a notice to the holder: "revoked" and the same note.
std::optional<Revocation> revocation_in_notice(std::string_view text);

}  // namespace redlock::records
