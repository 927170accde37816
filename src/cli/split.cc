// SPDX-License-Identifier: MIT
//
// The only file that includes CLI11, which takes seconds to compile. A command line defines only
// the options that it contains: to define all of them takes CLI11 0.1 to 0.2 ms.
#include "cli/split.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "cli/help.h"
#include "config/value.h"

namespace redlock::cli {
namespace {

using config::Command;
using config::Draft;
using config::Origin;
using config::quote;
using config::Row;
using config::Type;

/// What users of other programs write, by the commands that take `option`.
struct FlagHabit {
  std::string_view flag;
  std::string_view option;  ///< which these commands take
  std::string_view meant;
};
constexpr FlagHabit kFlagHabits[] = {
    {"--max", "--slots", "--slots"},
    {"--limit", "--slots", "--slots"},
    {"-N", "--slots", "--slots"},
    {"--concurrency", "--slots", "--slots"},
    {"--limit", "--last", "--last"},
    {"-n", "--last", "--last"},
    {"-N", "--last", "--last"},
    {"--reason", "-m", "-m"},
    {"--nowait", "-n", "-n"},
    {"--no-wait", "-n", "-n"},
    {"--fail-fast", "-n", "-n"},
    {"--reader", "-s", "-s"},
    {"--max-concurrent", "--slots", "--slots"},
    {"--force", "--once", "redlock release --force NAME"},
};

/// These stop or skip the job, so a word that is only similar does not lead to them.
constexpr std::string_view kGraveFlags[] = {"max-runtime", "once",   "now",
                                            "force",       "newest", "replace"};

/// The option that the user probably meant, or nothing. The beginning of a flag finds the flag,
/// too: redlock accepts no abbreviation, but it understands one.
std::string meant_flag(Command command, std::string_view flag) {
  for (const FlagHabit& habit : kFlagHabits) {
    const Row* const row = config::find_flag(command, habit.option);
    if (habit.flag == flag && row != nullptr) return std::string(habit.meant);
  }
  if (!flag.starts_with("--")) return {};
  std::vector<std::string> candidates;
  for (const Row& row : config::table()) {
    if (!takes(command, row) || row.group.empty()) continue;
    for (const std::string_view other : config::parts_of(row.flags, ",")) {
      if (other.starts_with("--")) candidates.emplace_back(other.substr(2));
    }
  }
  const std::string meant = config::nearest(flag.substr(2), candidates);
  if (meant.empty()) return {};
  const bool misspelt = flag.size() - 2 >= meant.size() && flag[2] == meant.front();
  const bool grave = std::ranges::find(kGraveFlags, meant) != std::end(kGraveFlags);
  return grave && !misspelt ? "" : "--" + meant;
}

/// Reads words from the left, like getopt(3) in its POSIX mode.
class Splitter {
 public:
  Splitter(Command command, std::vector<std::string> words, Rejected rejected)
      : command_(command), words_(std::move(words)), strict_(rejected == Rejected::thrown) {}

  Line split() && {
    const bool run = command_ == config::kRun;
    for (read_options(); line_.request == nullptr && !at_end(); read_options()) {
      // A job without a lock's name is a mistake that the caller finds.
      line_.in_job = command_ == config::kSandbox || (run && (!line_.words.empty() || at_dashes()));
      if (line_.in_job) {
        take_job();
        break;
      }
      line_.words.push_back(take());
    }
    return std::move(line_);
  }

 private:
  [[nodiscard]] bool at_end() const { return next_ == words_.size(); }
  [[nodiscard]] bool at_dashes() const { return !at_end() && words_[next_] == "--"; }
  std::string take() { return std::move(words_[next_++]); }

  /// Reads all options up to the first other word. A lone `-` is not an option.
  void read_options() {
    while (!at_end() && !at_dashes() && line_.request == nullptr) {
      const std::string& word = words_[next_];
      if (word.size() < 2 || word[0] != '-') return;
      word[1] == '-' ? read_long() : read_cluster();
    }
  }

  /// Takes all words that are left, without a leading `--`.
  void take_job() {
    if (at_dashes()) ++next_;
    const auto from = words_.begin() + static_cast<std::ptrdiff_t>(next_);
    line_.job.assign(std::make_move_iterator(from), std::make_move_iterator(words_.end()));
  }

  void read_long() {
    const std::string word = take();
    const std::size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const Row* const row = find(flag);
    if (row == nullptr) return;
    if (equals == std::string::npos) {
      takes_value(*row) ? add_with_next(*row, flag) : add(*row, "");
    } else if (takes_value(*row)) {
      add(*row, word.substr(equals + 1));
    } else if (strict_) {
      misused("option " + flag + " takes no value");
    }
  }

  /// `-nw5`, `-nw 5`: switches; the last option may have a value.
  void read_cluster() {
    const std::string word = take();
    for (std::size_t at = 1; at < word.size() && line_.request == nullptr; ++at) {
      const std::string flag = {'-', word[at]};
      const Row* const row = find(flag, word);
      if (row == nullptr) return;
      if (!takes_value(*row)) {
        add(*row, "");
        continue;
      }
      at + 1 < word.size() ? add(*row, word.substr(at + 1)) : add_with_next(*row, flag);
      return;
    }
  }

  void add_with_next(const Row& row, const std::string& flag) {
    if (at_end()) {
      if (strict_) {
        misused("option " + flag + " needs a value: " + flag + " " + std::string(row.metavar));
      }
      line_.awaiting = &row;
      return;
    }
    if (strict_) check_value(row, flag, words_[next_]);
    add(row, take());
  }

  /// A word that looks like an option is not a value: in `-w -n` the user forgot the time. Two
  /// exceptions: a negative number (the parser of the value has a better message), and the word
  /// after -c, which belongs to the shell.
  static void check_value(const Row& row, const std::string& flag, const std::string& word) {
    const bool option = word.size() > 1 && word[0] == '-';
    const bool number = option && word.find_first_of("0123456789.") == 1;
    if (option && !number && row.type != Type::shell_command) {
      const bool possible = row.type == Type::text && flag.starts_with("--");
      misused("option " + flag + " needs a value, but " + quote(word) + " follows" +
              (possible ? " (if that is the value: " + flag + "=...)" : ""));
    }
  }

  static bool takes_value(const Row& row) { return !row.metavar.empty(); }

  void add(const Row& row, std::string value) {
    if (row.type != Type::request) {
      line_.options.push_back({&row, std::move(value)});
    } else if (strict_) {
      line_.request = &row;
    }
  }

  /// `word`: the cluster that contains the flag. Null only for a rejected word that is passed over.
  [[nodiscard]] const Row* find(const std::string& flag, const std::string& word = {}) const {
    const Row* const row = config::find_flag(command_, flag);
    if (row != nullptr || !strict_) return row;
    std::string message = "unknown option " + quote(flag);
    if (word.size() > 2) message += " in " + quote(word);
    const std::string near = meant_flag(command_, flag);
    if (!near.empty()) message += ", did you mean " + near + "?";
    misused(message + " (see: redlock " + std::string(command_name(command_)) + " --help)");
  }

  Command command_;
  std::vector<std::string> words_;
  bool strict_;
  std::size_t next_ = 0;
  Line line_;
};

}  // namespace

Line split(Command command, std::vector<std::string> words, Rejected rejected) {
  return Splitter(command, std::move(words), rejected).split();
}

Draft read_options(std::vector<Given> options) {
  Draft draft;
  if (options.empty()) return draft;
  CLI::App app;
  app.set_help_flag();  // the table has our own
  std::set<const Row*> defined;
  std::vector<std::string> words;
  for (Given& given : options) {
    const Row& row = *given.row;
    if (row.type == Type::shell_command) {
      store(row, draft, given.value, {Origin::flag});
      continue;
    }
    words.emplace_back(row.flags.substr(0, row.flags.find(',')));
    const bool has_value = !row.metavar.empty();
    if (defined.insert(&row).second) {
      const auto take = [&row, &draft, has_value](const CLI::results_t& values) {
        store(row, draft, has_value ? values.back() : "", {Origin::flag});
        return true;
      };
      // trigger_on_parse stores values in the order of argv, across options (the last of -s and -x
      // wins). allow_extra_args(false) also keeps CLI11 from splitting `[a,b]`.
      app.add_option(std::string(row.flags), take)
          ->expected(has_value ? 1 : 0)
          ->allow_extra_args(false)
          ->trigger_on_parse();
    }
    if (has_value) words.push_back(std::move(given.value));
  }
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  app.parse(std::move(words));
  return draft;
}

}  // namespace redlock::cli
