// SPDX-License-Identifier: MIT
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

/// All commands, in the order of the help.
std::vector<config::Command> commands();

/// The command or flag that the user probably meant, or nothing. The beginning of a flag finds the
/// flag, too: redlock accepts no abbreviation, but it understands one. A word of another program
/// (lock, ls, exec) finds the command, with its form if the two do not mean quite the same.
std::string meant_command(std::string_view word);
std::string nearest_flag(config::Command command, std::string_view flag);

}  // namespace redlock::cli
