// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::records {

/// The process that takes a lock from its holder: the note in the value of a revoked lock
/// (redlock-protocol(7)). No decision depends on it.
struct Revocation {
  std::string host;
  std::string user;
  long pid = 0;
  std::chrono::milliseconds since{};  ///< Unix time by that host's clock
};

/// The value that the key of a lock with this token gets when the lock is revoked: less than 600
/// bytes.
std::string revoked_value(std::string_view token, const Revocation& revocation);

/// Reads the value of a lock's key. Nothing in it can be trusted. None if the lock is not revoked,
/// or the value does not say by whom.
std::optional<Revocation> read_revocation(std::string_view value);

/// Reads a notice for the holder: "revoked" and the same note. None if it is another notice.
std::optional<Revocation> revocation_in_notice(std::string_view text);

}  // namespace redlock::records
