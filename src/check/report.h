// SPDX-License-Identifier: MIT
//
// The findings of `redlock check`, for people: grouped by server.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "check/diagnosis.h"
#include "diag/screen.h"
#include "exit_status.h"

namespace redlock::check {

/// "ok", "warning", "failure".
std::string_view word_for(Level level);

struct Totals {
  std::size_t warnings = 0;
  std::size_t failures = 0;
};
Totals count(const std::vector<Finding>& findings);

enum class Shown { problems, everything };

/// A heading for each server with its findings below it, and one line that sums up. `usable`: how
/// many of the `servers` can vote.
std::string as_report(const std::vector<Finding>& findings, Shown shown, std::size_t usable,
                      std::size_t servers, ExitStatus status, const diag::Screen& screen);

}  // namespace redlock::check
