// SPDX-License-Identifier: MIT
//
// The log that every server keeps of a lock: what is written into it. Absent on purpose: what its
// lines say (records/log_entry.h), and whether anybody hears that one was written: nobody does.
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

/// A command that writes a line into the log of the lock with this key, of which about `most` lines
/// are kept (1 or more). Best effort: its one reply says nothing, and whatever the user may not do
/// is left out.
std::string encode_log(std::string_view lock_key, const LogLine& line, unsigned most);

}  // namespace redlock::redis
