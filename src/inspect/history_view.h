// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "diag/screen.h"
#include "diag/usual.h"
#include "exit_status.h"
#include "inspect/merged_log.h"

namespace redlock::inspect {

/// The output of `redlock history` about one lock, before formatting.
struct HistoryView {
  std::string name = {};  ///< of the lock
  std::vector<PastRun> runs;
  /// With --at: the last run that had ended by then, and the first that began later. Skipped runs
  /// do not count.
  std::optional<PastRun> before;
  std::optional<PastRun> after;
  std::optional<std::chrono::milliseconds> log_begins;  ///< none: there is no log
  std::optional<diag::Usual> usual = {};                ///< none: too few runs
};

/// Selects the runs that the user has asked for.
HistoryView view_of(std::vector<PastRun> runs, const cli::History& request);

/// None: fewer than 2 runs have ended well.
std::optional<diag::Usual> usual_of(const std::vector<PastRun>& runs);

/// Whether --failed shows the run.
bool has_failed(const PastRun& run);

/// "exit 0", "lost"…, in a few words or with more detail.
enum class Length { few, more };
std::string outcome_of(const PastRun& run, Length length);

enum class Beside { nothing, timeline };

/// A table that fits the screen, with one line per run, and a column for PastRun::lock if any run
/// has it.
std::string as_table(const std::vector<PastRun>& runs, const cli::History& request,
                     const diag::Screen& screen, Beside beside);

/// A time in the local time zone, for people.
std::string for_people(std::chrono::milliseconds unix_time);

/// See redlock-status(1). `troubles`: by server, the reason if its log could not be
/// read.
std::string to_json(const std::vector<HistoryView>& views, const cli::History& request,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status);

}  // namespace redlock::inspect
