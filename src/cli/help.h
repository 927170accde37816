// SPDX-License-Identifier: MIT
//
// The texts around the options in --help. The options come from the settings table, through CLI11
// (options.cc).
#pragma once

#include <string>
#include <string_view>

#include "config/table.h"

namespace redlock::cli {

/// `redlock --help`.
std::string main_help();

/// The texts before and after the options.
std::string_view help_head(config::Command command);
std::string help_foot(config::Command command);

/// The same of --help-servers.
std::string servers_head(config::Command command);
std::string servers_foot(config::Command command);

/// A row's text for the right-hand column: its help, its default, its variable.
std::string describe(const config::Row& row);

/// An entry in two columns, at most 79 characters wide.
std::string entry(std::string_view left, std::string_view right);

}  // namespace redlock::cli
