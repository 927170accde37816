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

/// A line of a lock's log, without its time and its event. Every line is complete in itself: the
/// line for the end of a run says everything about the run.
struct LogEntry {
  /// host, user, pid, command, message, maintenance and shared; for maintenance also the ttl
  Holder who;
  std::uint64_t fence = 0;                            ///< 0: none
  std::optional<std::chrono::milliseconds> waited{};  ///< from the first request to the win
  std::optional<std::chrono::milliseconds> held{};    ///< from the win to this line
  std::optional<int> status{};                        ///< the exit status of the job
  std::string reason{};  ///< why the job was stopped, or how the lock was lost; empty: neither
};

/// The name of the event in the log: "acquired", "released"…
std::string_view word_for(lock::Log::Event event);

LogEntry log_entry(const lock::Log& log, const Holder& who);

/// As in redlock-protocol(7). Bytes that are not UTF-8 are replaced.
std::string to_json(const LogEntry& entry);

/// Reads what to_json() writes, but from a server, so that nothing in it can be trusted. A field
/// that is missing, or out of range, is empty, 0 or none. None if the text is not a JSON object.
std::optional<LogEntry> read_log_entry(std::string_view json);

}  // namespace redlock::records
