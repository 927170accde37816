// SPDX-License-Identifier: MIT
//
// The commands' names, and --help. The options in it come from the settings table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/table.h"

namespace redlock::cli {

/// As the user types it: `run`, `sandbox`…
std::string_view command_name(config::Command command);
std::optional<config::Command> find_command(std::string_view word);

/// All commands, in the order in which they are offered.
std::vector<config::Command> commands();

/// `redlock --help`.
std::string main_help();

/// `redlock run --help` and the like: all options but those for servers and TLS.
std::string help(config::Command command);

/// The text before the options in it.
std::string_view help_head(config::Command command);

/// `redlock run --help-servers` and the like: the others.
std::string servers_help(config::Command command);

}  // namespace redlock::cli
