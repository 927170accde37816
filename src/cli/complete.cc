// SPDX-License-Identifier: MIT
#include "cli/complete.h"

#include <algorithm>
#include <string_view>

#include "cli/help.h"
#include "cli/suggest.h"
#include "config/value.h"

namespace redlock::cli {
namespace {

using config::Command;
using config::Row;
using config::Type;
using Also = Completion::Also;

/// Calls `use` for each of the parts of `text` between the separators.
template <class Use>
void for_each_part(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Finds what the word under the cursor is.
class Completer {
 public:
  Completer(Command command, const std::vector<std::string>& words)
      : command_(command), words_(words), word_(words.back()) {}

  Completion complete() && {
    for (at_ = 1; at_ + 1 < words_.size() && !complete_; ++at_) pass(words_[at_]);
    if (!complete_) complete_word();
    return std::move(result_);
  }

 private:
  /// A word before the one under the cursor; as Splitter reads it (split.cc).
  void pass(const std::string& word) {
    if (awaiting_ != nullptr) {
      result_.options.push_back({awaiting_, flag_, word});
      awaiting_ = nullptr;
    } else if (word == "--" && may_begin_job()) {
      begin_job(at_ + 1);
    } else if (word.size() > 2 && word.starts_with("--")) {
      pass_long(word);
    } else if (word.size() > 1 && word[0] == '-' && word != "--") {
      pass_cluster(word);
    } else if (may_begin_job()) {
      begin_job(at_);
    } else {
      ++names_;
    }
  }

  void pass_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    flag_ = word.substr(0, equals);
    const Row* row = config::find_flag(command_, flag_);
    if (row == nullptr) return;
    if (equals != std::string::npos) {
      result_.options.push_back({row, flag_, word.substr(equals + 1)});
    } else {
      take(*row);
    }
  }

  void pass_cluster(const std::string& word) {
    for (std::size_t at = 1; at < word.size(); ++at) {
      flag_ = {'-', word[at]};
      const Row* row = config::find_flag(command_, flag_);
      if (row == nullptr) return;
      if (!row->metavar.empty() && at + 1 < word.size()) {
        result_.options.push_back({row, flag_, word.substr(at + 1)});
        return;
      }
      take(*row);
    }
  }

  void take(const Row& row) {
    if (row.metavar.empty()) {
      if (row.type != Type::request) result_.options.push_back({&row, flag_, ""});
    } else {
      awaiting_ = &row;
    }
  }

  [[nodiscard]] bool may_begin_job() const {
    return command_ == config::kSandbox || (command_ == config::kRun && names_ > 0);
  }

  void begin_job(std::size_t index) {
    result_.also = Also::job;
    result_.job = index;
    complete_ = true;
  }

  void complete_word() {
    const std::size_t equals = word_.find('=');
    if (awaiting_ != nullptr) {
      offer_values(*awaiting_, "");
    } else if (word_.starts_with("--") && equals != std::string::npos) {
      const Row* row = config::find_flag(command_, word_.substr(0, equals));
      if (row != nullptr) offer_values(*row, word_.substr(0, equals + 1));
    } else if (word_.starts_with('-') || command_ == config::kConfig) {
      for (const Row& row : config::table()) offer_flags(row);
    } else if (may_begin_job()) {
      begin_job(words_.size() - 1);
    } else if (names_ == 0 || command_ == config::kStatus || command_ == config::kHistory) {
      result_.also = Also::lock_names;
    }
  }

  /// Offers nothing that stands on the line already, except -S, which can be repeated. Of several
  /// long flags, the first that fits.
  void offer_flags(const Row& row) {
    const bool given = std::ranges::any_of(result_.options, [&row](const Given& option) {
      return option.row == &row && row.type != Type::uri_list;
    });
    if (given || row.group.empty() || !takes(command_, row)) return;
    bool has_long = false;
    for_each_part(row.flags, ',', [&](std::string_view flag) {
      const bool is_long = flag.starts_with("--");
      if (is_long && has_long) return;
      if (offer(std::string(flag), row.help)) has_long = has_long || is_long;
    });
  }

  void offer_values(const Row& row, const std::string& before) {
    if (row.metavar == "FILE") {
      result_.also = Also::files;
    } else if (row.metavar == "DIR") {
      result_.also = Also::directories;
    } else if (row.metavar == "SIGNAL") {
      for (const std::string& name : config::signal_names()) offer(before + name, "");
    } else if (row.type == Type::uri_list) {
      for (const char* scheme : {"redis://", "rediss://", "unix:///"}) offer(before + scheme, "");
      result_.also = Also::the_rest;
    } else if (row.metavar.find('|') != std::string_view::npos) {
      for_each_part(row.metavar, '|',
                    [&](std::string_view value) { offer(before + std::string(value), ""); });
    }
  }

  bool offer(const std::string& word, std::string_view help) {
    if (!word.starts_with(word_)) return false;
    result_.candidates.push_back({word, std::string(help)});
    return true;
  }

  Command command_;
  const std::vector<std::string>& words_;
  const std::string& word_;
  std::size_t at_ = 1;
  std::size_t names_ = 0;          ///< words that are neither options nor their values
  const Row* awaiting_ = nullptr;  ///< the next word is this option's value
  std::string flag_;               ///< the last flag, as it stands on the line
  bool complete_ = false;
  Completion result_;
};

/// The first sentence of the command's help.
std::string summary(Command command) {
  std::string_view head = help_head(command);
  head.remove_prefix(head.find(": ") + 2);
  std::string text(head.substr(0, std::min(head.find("\n\n"), head.find_first_of(";:"))));
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// The word after `redlock`; and after `redlock help`, which takes commands alone.
Completion complete_command(const std::string& word, bool after_help) {
  Completion result;
  const auto offer = [&](std::string_view candidate, const std::string& help) {
    if (candidate.starts_with(word)) result.candidates.push_back({std::string(candidate), help});
  };
  for (const Command command : commands()) offer(command_name(command), summary(command));
  if (after_help) return result;
  offer("help", "show help");
  offer("completions", "print a script that completes redlock's words in a shell");
  if (!word.starts_with('-')) return result;
  for (const char* flag : {"--help", "--help-servers", "--version"}) {
    offer(flag, std::string(config::find_flag(config::kRun, flag)->help));
  }
  return result;
}

std::string_view also_text(Also also) {
  switch (also) {
    case Also::nothing:
    case Also::lock_names:
      return "nothing";
    case Also::the_rest:
      return "the-rest";
    case Also::files:
      return "files";
    case Also::directories:
      return "directories";
    case Also::job:
      return "job";
  }
  return {};
}

}  // namespace

Completion complete(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  if (words.size() == 1) return complete_command(words[0], false);
  if (const auto command = find_command(words[0])) return Completer(*command, words).complete();
  if (words.size() > 2) return {};
  if (words[0] == "help") return complete_command(words[1], true);
  Completion result;
  if (words[0] != "completions") return result;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    if (std::string_view(shell).starts_with(words[1])) result.candidates.push_back({shell, ""});
  }
  return result;
}

std::string to_text(const Completion& completion) {
  std::string text;
  for (const Candidate& candidate : completion.candidates) {
    text += candidate.word;
    if (!candidate.help.empty()) text += '\t' + candidate.help;
    text += '\n';
  }
  text += ':';
  text += also_text(completion.also);
  if (completion.also == Also::job) text += ' ' + std::to_string(completion.job);
  return text + '\n';
}

}  // namespace redlock::cli
