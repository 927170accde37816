// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "exit_status.h"
#include "inspect/merged_log.h"

namespace redlock::inspect {

/// What `redlock history` shows.
struct HistoryView {
  std::vector<PastRun> runs;
  /// With --at, of those that were not skipped: the last that was over by then, the first
  /// thereafter.
  std::optional<PastRun> before;
  std::optional<PastRun> after;
  std::optional<std::chrono::milliseconds> log_begins;  ///< none: there is no log
};

/// Picks what was asked for.
HistoryView view_of(std::vector<PastRun> runs, const cli::History& request);

/// "exit 0", "lost"…, in a few words or in more.
enum class Length { few, more };
std::string outcome_of(const PastRun& run, Length length);

enum class Beside { nothing, timeline };

/// A table of `width` columns; a line for each run.
std::string as_table(const std::vector<PastRun>& runs, const cli::History& request,
                     std::size_t width, Beside beside);

/// In local time, as a person reads it.
std::string for_people(std::chrono::milliseconds unix_time);

/// What redlock(1) describes under "What history prints". `troubles`: by server, why its log could
/// not be read.
std::string to_json(const HistoryView& view, const cli::History& request,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status);

}  // namespace redlock::inspect
