// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lock/effect.h"
#include "records/holder.h"

namespace redlock::records {

/// What a line of a lock's log says, besides when it was written and of what. A line is complete in
/// itself: that of a run's end tells all that is to be told of the run.
struct LogEntry {
  Holder who;                                       ///< host, user, pid and command only
  std::uint64_t fence = 0;                          ///< 0: none
  std::optional<std::chrono::milliseconds> waited;  ///< from asking for the lock to having it
  std::optional<std::chrono::milliseconds> held;    ///< from having it until then
  std::optional<int> status;                        ///< the job's
  std::string reason;  ///< why the job was stopped, or how the lock was lost; empty: neither
};

/// As the log calls it: "acquired", "released"…
std::string_view word_for(lock::Log::Event event);

LogEntry log_entry(const lock::Log& log, const Holder& who);

/// As in redlock-protocol(7). Bytes that are no UTF-8 are replaced.
std::string to_json(const LogEntry& entry);

/// The other way, of what a server says, as for a holder: nothing in it is to be trusted, and what
/// is missing, or beyond all measure, is empty, 0 or none. None if it is no JSON object.
std::optional<LogEntry> read_log_entry(std::string_view json);

}  // namespace redlock::records
