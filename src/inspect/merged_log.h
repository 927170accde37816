// SPDX-License-Identifier: MIT
//
// What the logs of several servers together tell about the runs of a lock. Absent on purpose:
// asking for them (redis/log_reader.h), and showing it (inspect/history.cc).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "records/log_entry.h"
#include "redis/log_reader.h"

namespace redlock::inspect {

/// A run that has been, or is; or several that were skipped one after the other.
struct PastRun {
  enum class Ending {
    ended,    ///< released
    lost,     ///< while the job ran, or found out at its end
    forced,   ///< the lock was revoked
    running,  ///< it has the lock
    unknown,  ///< nobody logged its end: it expired, or its host died
    unclear,  ///< likewise, or it still has the lock: too few servers tell
    skipped,  ///< by --once
  };
  Ending ending = Ending::unknown;
  std::string run;                    ///< as the log calls it
  std::chrono::milliseconds began{};  ///< Unix time, by most servers' clocks
  /// A holder need not say since when it has the lock, and the log may know nothing of it: then
  /// `began` is the end of the run before, or 0.
  bool knows_beginning = true;
  std::optional<std::chrono::milliseconds> ended;
  bool goes_on = false;    ///< it has the lock, though it may have been told to give it up
  records::LogEntry told;  ///< untrusted
  std::optional<records::Holder> forced_by;  ///< untrusted
  unsigned skips = 0;                        ///< how many runs were skipped
};

/// Who has the lock now, by a quorum.
struct Present {
  bool sure = true;      ///< a quorum tells
  std::string run = {};  ///< empty: nobody
  std::optional<records::Holder> holder = std::nullopt;
  std::uint64_t fence = 0;
};

/// One for each run, in the order in which they began. `logs`: of each server that could be asked,
/// the latest line first. Lines that are none of redlock's are passed over. The one who has the
/// lock is among them even if no log knows of it.
std::vector<PastRun> merge(const std::vector<std::vector<redis::LoggedLine>>& logs,
                           const Present& present);

}  // namespace redlock::inspect
