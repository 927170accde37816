// SPDX-License-Identifier: MIT
//
// The words around the options in --help. The options come from the settings table, by way of
// CLI11 (command_line.cc).
#pragma once

#include <string>
#include <string_view>

#include "config/table.h"

namespace redlock::cli {

/// `redlock --help`.
std::string main_help();

/// What stands before and after the options.
std::string_view help_head(config::Command command);
std::string help_foot(config::Command command);

/// A row's text for the right-hand column: what it does, its default, its variable.
std::string describe(const config::Row& row);

/// An entry in two columns, within 80.
std::string entry(std::string_view left, std::string_view right);

}  // namespace redlock::cli
