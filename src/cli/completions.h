// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace redlock::cli {

/// `redlock completions bash|zsh|fish`, and `redlock completions for WORD...`, which the scripts
/// call. Throws Error (64).
Invocation completions(const std::vector<std::string>& args,
                       const config::Environment& environment);

}  // namespace redlock::cli
