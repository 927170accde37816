// SPDX-License-Identifier: MIT
//
// The commands' names, and --help. The options in it come from the settings table.
#pragma once

#include <optional>

#include "config/table.h"

namespace redlock::cli {

struct Page {
  config::Command command;
  std::string_view name;  ///< as the user types it: `run`, `sandbox`…
  std::string_view head;  ///< the text of --help before the options
};

/// Of all commands, in the order in which they are offered.
std::span<const Page> pages();

std::string_view command_name(config::Command command);
std::optional<config::Command> find_command(std::string_view word);

std::string main_help();

/// `redlock run --help` and the like: all options but those for servers and TLS.
std::string help(config::Command command);

/// `redlock run --help-servers` and the like: the others.
std::string servers_help(config::Command command);

/// The same text for a screen of fewer than kHelpWidth columns. An example stays one line, which a
/// user can copy.
std::string fitted(std::string_view help, std::size_t width);

inline constexpr std::size_t kHelpWidth = 79;

}  // namespace redlock::cli
