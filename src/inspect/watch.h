// SPDX-License-Identifier: MIT
//
// --watch of `redlock status` and `redlock list`: shows the same output again and again, in place.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "diag/screen.h"
#include "exit_status.h"

namespace redlock::inspect {

/// The output of one look at the servers.
struct Frame {
  std::string text = {};
  std::vector<std::string> complaints = {};  ///< for standard error, or below the text
  ExitStatus status = ExitStatus::ok;
};

using Look = std::function<Frame(const diag::Screen&)>;

/// Draws on the terminal, `every` so often, until a signal ends it: status 0 for Ctrl-C, as of
/// watch(1). Throws Error (64 without such a terminal, and what `look` throws).
Exit watch(const config::Settings& settings, const std::string& title,
           std::chrono::milliseconds every, const Look& look);

}  // namespace redlock::inspect
