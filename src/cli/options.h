// SPDX-License-Identifier: MIT
//
// What CLI11 does for redlock: it reads the options and lists them in the help.
#pragma once

#include <string>
#include <vector>

#include "cli/split.h"
#include "config/table.h"

namespace redlock::cli {

/// The options' values, stored in the order of argv. Throws Error (64) for a wrong value.
config::Draft read_options(std::vector<Given> options);

/// `redlock run --help` and the like.
std::string help(config::Command command);

}  // namespace redlock::cli
