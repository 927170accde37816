// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/text.h"
#include "lock/time.h"
#include "lock/vote.h"

namespace redlock::diag {

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

/// One phrase for the one in our way: "held by root@web1 (pid 4711, ./backup.sh) for 3m 2s",
/// "cooling down after …", or what is known of a foreign client's key. Safe to print: what came
/// from a server is cleaned.
std::string describe(const lock::Refused& refusal);

/// The same without times: "held by root@web1 (pid 4711, ./backup.sh)".
std::string name_blocker(const lock::Refused& refusal);

/// "done by root@web1 (pid 4711, ./backup.sh), begun 3m 2s ago"
std::string describe(const lock::Done& done);

/// How long ago something was that another host, or this one, says it did then. None if that is
/// not known, or yet to come.
std::optional<std::chrono::milliseconds> ago(std::chrono::milliseconds unix_time);

/// A length of time for people: "250 ms", "28 s", "3m 2s", "1h 5m".
std::string for_people(std::chrono::nanoseconds length);

/// The same of any unit, however long.
template <class Rep, class Period>
std::string for_people(std::chrono::duration<Rep, Period> length) {
  return for_people(lock::saturated(length));
}

/// The same for one that a person has chosen: "10m" and "1h", not "10m 0s" and "1h 0m".
std::string round_for_people(std::chrono::nanoseconds length);

}  // namespace redlock::diag
