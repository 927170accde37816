// SPDX-License-Identifier: MIT
//
// Completes a command line, for the shells' scripts in cli/completions/. The settings table gives
// the options and their values, so the scripts know none. Deliberately absent: the names of locks,
// which are on the servers (look/list.cc).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace redlock::cli {

struct Candidate {
  std::string word;
  std::string help;  ///< one line; may be empty
};

/// `redlock completions for`, which the scripts call.
struct Complete {
  std::string word = {};                   ///< under the cursor
  std::vector<Candidate> candidates = {};  ///< all of them begin with it
  /// What the shell offers besides: `nothing`; `the-rest`, no blank after a candidate, as the user
  /// continues the word; `files` and `directories`, for the part after the `=` of `--option=...`;
  /// `job`, the job's own completion.
  std::string_view also = "nothing";
  std::size_t job = 0;  ///< the index of the job's first word
  /// To ask the servers for the names of locks, which are candidates, too. No value: the line needs
  /// none, or the settings are not valid.
  std::optional<config::Settings> settings = {};
};

/// One candidate a line, with its help after a tab. The last line is `:` and Complete::also; `:job`
/// has the index after a blank.
std::string to_text(const Complete& line);

}  // namespace redlock::cli
