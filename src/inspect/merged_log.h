// SPDX-License-Identifier: MIT
//
// Merges the logs of several servers into the runs of a lock. Absent on purpose: the requests
// (redis/inspection/log_reader.h) and the output (inspect/history.cc).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "records/holder.h"
#include "records/log_entry.h"
#include "redis/inspection/log_reader.h"

namespace redlock::inspect {

/// A run, past or present; or several skipped runs in a row.
struct PastRun {
  enum class Ending {
    ended,    ///< released
    lost,     ///< the lock was lost; noticed while the job ran, or at its end
    forced,   ///< the lock was revoked
    running,  ///< it has the lock
    unknown,  ///< no log has its end: the lock expired, or the host died
    unclear,  ///< likewise, or it still has the lock: see Present::sure
    skipped,  ///< by --once
    expired,  ///< a maintenance hold whose time was over
  };
  Ending ending = Ending::unknown;
  std::string run;                    ///< its name in the log
  std::string lock = {};              ///< the lock's name, for a table of several locks
  std::chrono::milliseconds began{};  ///< Unix time, by most servers' clocks
  /// Whether `began` is known. If neither the holder's record nor the log has it, `began` is the
  /// end of the run before, or 0.
  bool knows_beginning = true;
  std::optional<std::chrono::milliseconds> ended;
  bool goes_on = false;                      ///< it has the lock, perhaps a revoked one
  records::LogEntry entry;                   ///< untrusted
  std::optional<records::Holder> forced_by;  ///< untrusted
  unsigned skips = 0;                        ///< how many runs were skipped
};

/// The present holder of the lock, or its readers, by a quorum.
struct Present {
  struct Reader {
    std::string run;
    std::optional<records::Holder> holder;
    std::uint64_t fence = 0;
  };
  bool sure = true;      ///< a quorum agrees, and nobody else has the lock
  std::string run = {};  ///< empty: nobody
  std::optional<records::Holder> holder = std::nullopt;
  std::uint64_t fence = 0;
  std::chrono::milliseconds now{};   ///< Unix time by our clock
  std::vector<Reader> readers = {};  ///< of a shared lock; `run` is empty then
};

/// The runs, in the order in which they began. `logs`: one for each server that answered, the
/// latest line first. Skips lines that redlock did not write. The present holder's run is among
/// them even if no log has it.
std::vector<PastRun> merge(const std::vector<std::vector<redis::LoggedLine>>& logs,
                           const Present& present);

}  // namespace redlock::inspect
