// SPDX-License-Identifier: MIT
//
// Writes into the log that every server keeps of a lock. Absent on purpose: the content of its
// lines (records/log_entry.h), and any confirmation: no client waits for one.
#pragma once

#include <string>
#include <string_view>

namespace redlock::redis {

/// A line of the log.
struct LogLine {
  std::string event;  ///< "acquired", "released", "lost", "revoked", "skipped"
  std::string token;  ///< of the run; only its digest gets into the log
  std::string data;   ///< JSON, redlock-protocol(7)
};

/// A command that writes a line into the log of the lock with this key. The log keeps about `most`
/// lines (1 or more). Best effort: its one reply says nothing, and the script leaves out all that
/// the user may not do.
std::string encode_log(std::string_view lock_key, const LogLine& line, unsigned most);

}  // namespace redlock::redis
