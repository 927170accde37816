// SPDX-License-Identifier: MIT
//
// The output of `redlock status` and `redlock list`: once, or with --watch again and again, in
// place.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "diag/text.h"
#include "exit_status.h"

namespace redlock::look {

/// The output of one look at the servers.
struct Frame {
  std::string text = {};
  std::vector<std::string> complaints = {};  ///< for standard error, or below the text
  ExitStatus status = ExitStatus::ok;
};

using Look = std::function<Frame(const diag::Screen&)>;

/// Prints one look, or draws on the terminal, `every` so often, until a signal ends it: status 0
/// for Ctrl-C, as of watch(1). Throws Error (64 without such a terminal, and what `look` throws).
Exit show(const config::Settings& settings, const std::vector<std::string>& typed,
          std::optional<std::chrono::milliseconds> every, const Look& look);

}  // namespace redlock::look
