// SPDX-License-Identifier: MIT
//
// The configuration file, redlock.toml(5).
#pragma once

#include "config/draft.h"

namespace redlock::config {

/// Stores the file's values for the settings that neither a flag nor a variable has set. Without
/// draft.config_file it reads kDefaultFile, which need not exist. Throws Error (78) with file and
/// line for any mistake in the file, except in the value of a setting that is set already.
void add_file(Draft& draft);

}  // namespace redlock::config
