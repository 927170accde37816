// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::records {

/// The version of redlock-protocol(7).
inline constexpr long long kProtocol = 1;

/// So much of a job's command is stored and shown.
inline constexpr std::size_t kMostCommandBytes = 200;

/// Who holds a lock, as it is stored beside the lock for people to read. Nothing is decided by it.
struct Holder {
  std::string host;
  std::string user;
  long pid = 0;
  std::string command;  ///< empty: not recorded
  /// When the lock was asked for with success: Unix time by the holder's clock.
  std::chrono::milliseconds since{};
  std::chrono::milliseconds ttl{};
  std::string servers;  ///< fingerprint of the holder's set of servers
  long long protocol = kProtocol;
};

/// The holder as JSON, as in redlock-protocol(7). Bytes that are no UTF-8 are replaced.
std::string to_json(const Holder& holder);

/// The same, from this moment on.
Holder since_now(Holder holder);

/// The other way, of what a server says: nothing in it is to be trusted, and what is missing is
/// empty or 0. None if it is no JSON object.
std::optional<Holder> read_holder(std::string_view json);

/// A command line as a person would type it, cut to a length fit for a message.
std::string shell_like(const std::vector<std::string>& argv);

}  // namespace redlock::records
