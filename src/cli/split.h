// SPDX-License-Identifier: MIT
//
// Cuts argv up by hand, from the settings table, before CLI11 sees any of it. Only the splitter
// knows where an option ends, so it alone complains about an unknown option and a missing value.
// CLI11 cannot cut:
//
//   - It makes `abc` of a positional `[abc]`, and two words of `[a,b]` (2.1.2).
//   - It would read the job's options as ours.
//   - It takes the next word as the value of `--prefix=`.
//   - It cannot tell `--prefix=-n` from `--prefix -n`, and it accepts `--quiet=`.
//   - It continues after an unknown option.
//
// Deliberately absent: the meaning of a value (config/table.h).
#pragma once

#include "config/table.h"
#include "error.h"

namespace redlock::cli {

/// Throws Error (64).
[[noreturn]] inline void misused(const std::string& message) {
  throw Error(ExitStatus::usage, message);
}

/// One option as the user gave it, alone or in a cluster.
struct Given {
  const config::Row* row;
  std::string value;  ///< empty for an option that takes none
};

/// What becomes of words that redlock rejects. For completion, split() passes over them and over
/// requests.
enum class Rejected { thrown, passed_over };

struct Line {
  std::vector<Given> options;             ///< in the order of argv
  const config::Row* request = nullptr;   ///< -h or -V; the splitter stopped there
  std::vector<std::string> words;         ///< the lock's name; status: names; release: name, token
  std::vector<std::string> job;           ///< run and sandbox: the command, untouched
  bool in_job = false;                    ///< the next word would be the job's
  const config::Row* awaiting = nullptr;  ///< the option whose value would be the next word
};

/// run: `[OPTIONS] NAME [OPTIONS] [--] COMMAND [ARG…]`; the first word after NAME that is not an
/// option begins the job. sandbox: the same without NAME. All others: `[OPTIONS] [WORD
/// [OPTIONS]]…`; there a `--` is a word like any other. Throws Error (64).
Line split(config::Command command, std::vector<std::string> words,
           Rejected rejected = Rejected::thrown);

/// Lets CLI11 read the options, and stores their values in the order of argv. Throws Error (64) for
/// a wrong value.
config::Draft read_options(std::vector<Given> options);

}  // namespace redlock::cli
