// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lock/vote.h"

namespace redlock::diag {

/// Who holds a lock, as it is stored beside the lock for people to read. Nothing is decided by it.
struct Holder {
  std::string host;
  std::string user;
  long pid = 0;
  std::string command;
  std::chrono::milliseconds since{};  ///< Unix time by the holder's clock
  std::chrono::milliseconds ttl{};
  std::string servers;  ///< fingerprint of the holder's set of servers
};

/// The holder as JSON, version 1 of redlock-protocol(7). Bytes that are no UTF-8 are replaced.
std::string to_json(const Holder& holder);

/// A command line as a person would type it, cut to a length fit for a message.
std::string shell_like(const std::vector<std::string>& argv);

/// One phrase for the one in our way: "held by root@web1 (pid 4711, ./backup.sh) for 3m 2s",
/// "cooling down after …", or what is known of a foreign client's key. Safe to print: what came from
/// a server is cleaned.
std::string describe(const lock::Refused& refusal);

/// "done by root@web1 (pid 4711, ./backup.sh), begun 3m 2s ago"
std::string describe(const lock::Done& done);

/// Text from elsewhere made fit for a terminal and one line: control bytes become '?'.
std::string printable(std::string_view text, std::size_t most_bytes);

/// A length of time for people: "250 ms", "28 s", "3m 2s", "1h 5m".
std::string for_people(std::chrono::nanoseconds length);

}  // namespace redlock::diag
