// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/table.h"

namespace redlock::cli {

/// As typed: `run`, `sandbox`…
std::string_view command_name(config::Command command);
std::optional<config::Command> find_command(std::string_view word);

/// The command or flag somebody probably meant, or nothing. A flag is also found by its beginning
/// (abbreviations are not accepted, but understood).
std::string nearest_command(std::string_view word);
std::string nearest_flag(config::Command command, std::string_view flag);

}  // namespace redlock::cli
