// SPDX-License-Identifier: MIT
//
// Cuts argv up by hand, from the settings table, before CLI11 sees any of it: CLI11 2.1.2 turns a
// positional `[abc]` into `abc` and `[a,b]` into two words, and would take the job's options for
// ours. Deliberately absent: what values mean (config/table.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/table.h"

namespace redlock::cli {

/// One option as it was given, alone or in a cluster.
struct Given {
  const config::Row* row;
  std::string flag;   ///< as typed, without the value: `-w`, `--timeout`
  std::string value;  ///< empty for one that takes none
};

struct Line {
  std::vector<Given> options;            ///< in the order they were given
  const config::Row* request = nullptr;  ///< -h or -V: nothing behind it was looked at
  std::string name;                      ///< run, check, history: the lock's
  std::vector<std::string> names;        ///< status: the locks'; acquire, renew, release: the words
  std::vector<std::string> job;          ///< what is to be run, untouched
};

/// `[OPTIONS] NAME [OPTIONS] [--] COMMAND [ARG…]`. The first word after NAME that is no option
/// begins the job; one `--` there is dropped. Throws Error (64).
Line split_run(std::vector<std::string> words);

/// `[OPTIONS] NAME [[OPTIONS] NAME…] [OPTIONS]`. Throws Error (64).
Line split_status(std::vector<std::string> words);

/// `[OPTIONS] [WORD [OPTIONS]]…`. What follows a `--` is as good as a word. Throws Error (64).
Line split_words(config::Command command, std::vector<std::string> words);

/// `[OPTIONS] [NAME [OPTIONS]]`: config (which takes no name), check, history, and list, with a
/// pattern for the name. Throws Error (64).
Line split_settings(config::Command command, std::vector<std::string> words);

/// `[OPTIONS] [--] [COMMAND [ARG…]]`. Throws Error (64).
Line split_sandbox(std::vector<std::string> words);

}  // namespace redlock::cli
