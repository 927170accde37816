// SPDX-License-Identifier: MIT
//
// The configuration file, redlock.toml(5).
#pragma once

#include "config/table.h"

namespace redlock::config {

/// Stores what the file of `draft` says where neither a flag nor a variable has spoken. Without a
/// draft.config_file it is kDefaultFile, which need not exist. Throws Error (78) with file and line
/// for whatever is wrong in it, be it overridden or not; a value that is overridden is not looked
/// at.
void add_file(Draft& draft);

}  // namespace redlock::config
