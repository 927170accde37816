// SPDX-License-Identifier: MIT
//
// CLI11's work: it reads the options and lists them in the help.
#pragma once

#include <string>
#include <vector>

#include "cli/split.h"
#include "config/draft.h"

namespace redlock::cli {

/// Stores the options' values, in the order of argv. Throws Error (64) for a wrong value.
config::Draft read_options(std::vector<Given> options);

/// `redlock run --help` and the like: all options but those for servers and TLS.
std::string help(config::Command command);

/// `redlock run --help-servers` and the like: the others.
std::string servers_help(config::Command command);

}  // namespace redlock::cli
