// SPDX-License-Identifier: MIT
#include "cli/split.h"

#include <string_view>
#include <utility>

#include "cli/misuse.h"
#include "cli/suggest.h"
#include "config/quote.h"

namespace redlock::cli {
namespace {

using config::Command;
using config::quote;
using config::Row;
using config::Type;

/// Reads words from the left, like getopt(3) in its POSIX mode.
class Splitter {
 public:
  Splitter(Command command, std::vector<std::string> words)
      : command_(command), words_(std::move(words)) {}

  [[nodiscard]] bool at_end() const { return next_ == words_.size(); }
  [[nodiscard]] bool at_dashes() const { return !at_end() && words_[next_] == "--"; }
  std::string take() { return std::move(words_[next_++]); }

  /// Reads all options up to the first other word. A lone `-` is not an option.
  void read_options(Line& line) {
    while (!at_end() && !at_dashes() && line.request == nullptr) {
      const std::string& word = words_[next_];
      if (word.size() < 2 || word[0] != '-') return;
      word[1] == '-' ? read_long(line) : read_cluster(line);
    }
  }

  /// Takes all words that are left, without a leading `--`.
  std::vector<std::string> rest() {
    if (at_dashes()) ++next_;
    const auto from = words_.begin() + static_cast<std::ptrdiff_t>(next_);
    return {std::make_move_iterator(from), std::make_move_iterator(words_.end())};
  }

 private:
  void read_long(Line& line) {
    const std::string word = take();
    const std::size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const Row& row = find(flag);
    if (equals == std::string::npos) {
      add(line, row, flag, takes_value(row) ? next_value(row, flag) : "");
    } else if (takes_value(row)) {
      add(line, row, flag, word.substr(equals + 1));
    } else {
      misused("option " + flag + " takes no value");
    }
  }

  /// `-nw5`, `-nw 5`: switches, and perhaps an option with its value at the end.
  void read_cluster(Line& line) {
    const std::string word = take();
    for (std::size_t at = 1; at < word.size() && line.request == nullptr; ++at) {
      const std::string flag = {'-', word[at]};
      const Row& row = find(flag, word);
      if (!takes_value(row)) {
        add(line, row, flag, "");
        continue;
      }
      add(line, row, flag, at + 1 < word.size() ? word.substr(at + 1) : next_value(row, flag));
      return;
    }
  }

  /// A word that looks like an option is not a value: in `-w -n` the user forgot the time. Two
  /// exceptions: a negative number (the parser of the value has a better message), and the word
  /// after -c, which belongs to the shell.
  std::string next_value(const Row& row, const std::string& flag) {
    if (at_end())
      misused("option " + flag + " needs a value: " + flag + " " + std::string(row.metavar));
    const std::string& word = words_[next_];
    const bool option = word.size() > 1 && word[0] == '-';
    const bool number = option && word.find_first_of("0123456789.") == 1;
    if (option && !number && row.type != Type::shell_command) {
      const bool possible = row.type == Type::text && flag.starts_with("--");
      misused("option " + flag + " needs a value, but " + quote(word) + " follows" +
              (possible ? " (if that is the value: " + flag + "=...)" : ""));
    }
    return take();
  }

  static bool takes_value(const Row& row) { return !row.metavar.empty(); }

  static void add(Line& line, const Row& row, const std::string& flag, std::string value) {
    if (row.type == Type::request) {
      line.request = &row;
    } else {
      line.options.push_back({&row, flag, std::move(value)});
    }
  }

  /// `word`: the cluster that contains the flag.
  const Row& find(const std::string& flag, const std::string& word = {}) const {
    if (const Row* row = config::find_flag(command_, flag)) return *row;
    std::string message = "unknown option " + quote(flag);
    if (word.size() > 2) message += " in " + quote(word);
    const std::string near = nearest_flag(command_, flag);
    if (!near.empty()) message += ", did you mean " + near + "?";
    misused(message + " (see: redlock " + std::string(command_name(command_)) + " --help)");
  }

  Command command_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

}  // namespace

Line split(Command command, std::vector<std::string> words) {
  Line line;
  Splitter splitter(command, std::move(words));
  const bool run = command == config::kRun;
  for (splitter.read_options(line); line.request == nullptr && !splitter.at_end();
       splitter.read_options(line)) {
    if (command == config::kSandbox || (run && !line.words.empty())) {
      line.job = splitter.rest();
      break;
    }
    if (run && splitter.at_dashes()) {
      line.job = splitter.rest();  // without a lock's name, which the caller misses
      break;
    }
    line.words.push_back(splitter.take());
  }
  return line;
}

}  // namespace redlock::cli
