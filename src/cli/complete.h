// SPDX-License-Identifier: MIT
//
// Completes a command line, for the shells' scripts in cli/completions/. The settings table gives
// the options and their values, so the scripts know none. Deliberately absent: the names of locks,
// which are on the servers (look/list.cc).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/split.h"

namespace redlock::cli {

struct Candidate {
  std::string word;
  std::string help;  ///< one line; may be empty
};

struct Completion {
  std::vector<Candidate> candidates;  ///< all of them begin with the word under the cursor
  /// What the shell offers besides: `nothing`; `the-rest`, no blank after a candidate, as the user
  /// continues the word; `files` and `directories`, for the part after the `=` of `--option=...`;
  /// `job`, the job's own completion.
  std::string_view also = "nothing";
  bool lock_names = false;     ///< the names of held locks are candidates, too
  std::size_t job = 0;         ///< the index of the job's first word
  std::vector<Given> options;  ///< the options before the word under the cursor
};

/// One candidate a line, with its help after a tab. The last line is `:` and
/// Completion::also; `:job` has the index after a blank.
std::string to_text(const Completion& completion);

}  // namespace redlock::cli
