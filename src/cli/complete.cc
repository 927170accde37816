// SPDX-License-Identifier: MIT
//
// Completes a command line, for the shells' scripts in completions/. The settings table gives the
// options and their values, so the scripts know none. Deliberately absent: the names of locks,
// which are on the servers (look/list.cc).
#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/command_line.h"
#include "cli/help.h"
#include "cli/split.h"
#include "config/value.h"
#include "error.h"
#include "os/signals.h"

namespace redlock::cli {
namespace {

using config::Command;
using config::Row;
using config::Type;

struct Script {
  std::string_view shell;
  std::string_view text;
};
/// Generated from the files in completions/ by CMakeLists.txt.
constexpr Script kScripts[] = {
#include "cli/completion_scripts.inc"
};

/// Makes the settings for the line's options, to ask the servers for names. An error in them is not
/// shown in the middle of the user's line: there are no names then.
std::optional<config::Settings> settings_of(std::vector<Given> options,
                                            const config::Environment& environment) {
  std::erase_if(options, [](const Given& given) { return !config::of_servers(*given.row); });
  try {
    config::Draft draft = read_options(std::move(options));
    config::complete(draft, environment);
    return std::move(draft.settings);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Finds what the word under the cursor is.
class Completer {
 public:
  Completer(Command command, const std::vector<std::string>& words,
            const config::Environment& environment)
      : command_(command),
        environment_(environment),
        line_(split(command, {words.begin() + 1, words.end() - 1}, Rejected::passed_over)),
        result_{.word = words.back(), .job = words.size() - 1 - line_.job.size()} {}

  Complete complete() && {
    const std::string& word = result_.word;
    const std::size_t equals = word.find('=');
    if (line_.in_job) {
      result_.also = "job";
    } else if (line_.awaiting != nullptr) {
      offer_values(*line_.awaiting, "");
    } else if (word.starts_with("--") && equals != std::string::npos) {
      const Row* row = config::find_flag(command_, word.substr(0, equals));
      if (row != nullptr) offer_values(*row, word.substr(0, equals + 1));
    } else if (word.starts_with('-') || command_ == config::kConfig) {
      for (const Row& row : config::table()) offer_flags(row);
    } else if (command_ == config::kSandbox || (command_ == config::kRun && !line_.words.empty())) {
      result_.also = "job";
    } else if (line_.words.empty() || command_ == config::kStatus || command_ == config::kHistory) {
      result_.settings = settings_of(std::move(line_.options), environment_);
    }
    return std::move(result_);
  }

 private:
  /// Offers nothing that stands on the line already, except -S and --also, which can be repeated.
  /// Of several long flags, the first that fits.
  void offer_flags(const Row& row) {
    const bool repeats = row.type == Type::uri_list || row.name == config::key::also;
    const bool given =
        std::ranges::any_of(line_.options, [&](const Given& each) { return each.row == &row; });
    if ((given && !repeats) || row.group.empty() || !takes(command_, row)) return;
    bool has_long = false;
    for (const std::string_view flag : config::parts_of(row.flags, ",")) {
      const bool is_long = flag.starts_with("--");
      if (is_long && has_long) continue;
      if (offer(std::string(flag), row.help)) has_long = has_long || is_long;
    }
  }

  void offer_values(const Row& row, const std::string& before) {
    if (row.metavar == "FILE") {
      result_.also = "files";
    } else if (row.metavar == "DIR") {
      result_.also = "directories";
    } else if (row.metavar == "SIGNAL") {
      for (const os::KnownSignal& signal : os::known_signals()) {
        offer(before + std::string(signal.name), "");
      }
    } else if (row.type == Type::uri_list) {
      for (const char* scheme : {"redis://", "rediss://", "unix:///"}) offer(before + scheme, "");
      result_.also = "the-rest";
    } else if (row.metavar.find('|') != std::string_view::npos) {
      for (const std::string_view value : config::parts_of(row.metavar, "|")) {
        offer(before + std::string(value), "");
      }
    }
  }

  bool offer(const std::string& word, std::string_view help) {
    if (!word.starts_with(result_.word)) return false;
    result_.candidates.push_back({word, std::string(help)});
    return true;
  }

  Command command_;
  const config::Environment& environment_;
  Line line_;
  Complete result_;
};

/// The first sentence of the command's help.
std::string summary(const Page& page) {
  std::string_view head = page.head;
  head.remove_prefix(head.find(": ") + 2);
  std::string text(head.substr(0, std::min(head.find("\n\n"), head.find_first_of(";:"))));
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// The word after `redlock`; and after `redlock help`, which takes commands alone.
Complete complete_command(const std::string& word, bool after_help) {
  Complete result{.word = word};
  const auto offer = [&](std::string_view candidate, const std::string& help) {
    if (candidate.starts_with(word)) result.candidates.push_back({std::string(candidate), help});
  };
  for (const Page& page : pages()) offer(page.name, summary(page));
  if (after_help) return result;
  offer("help", "show help");
  offer("completions", "print a script that completes redlock's words in a shell");
  if (!word.starts_with('-')) return result;
  for (const char* flag : {"--help", "--help-servers", "--version"}) {
    offer(flag, std::string(config::find_flag(config::kRun, flag)->help));
  }
  return result;
}

constexpr std::string_view kHelp =
    R"(redlock completions: print a script that completes redlock's commands,
options and values, the names of held locks, and the job's own words

Example:
  source <(redlock completions bash)

Usage:
  redlock completions bash|zsh|fish

cmake --install and the packages put the scripts where the shells find them.
)";

/// `words`: the command line after `redlock`, up to the word under the cursor, which may be empty.
/// Never fails: for a line that redlock would reject there may be no candidates.
Complete complete(const std::vector<std::string>& words, const config::Environment& environment) {
  if (words.empty()) return {};
  if (words.size() == 1) return complete_command(words[0], false);
  if (const auto command = find_command(words[0])) {
    return Completer(*command, words, environment).complete();
  }
  if (words.size() > 2) return {};
  if (words[0] == "help") return complete_command(words[1], true);
  Complete result{.word = words[1]};
  if (words[0] != "completions") return result;
  for (const Script& script : kScripts) {
    const std::string shell(script.shell);
    if (shell.starts_with(result.word)) result.candidates.push_back({shell, ""});
  }
  return result;
}

}  // namespace

std::string to_text(const Complete& line) {
  std::string text;
  for (const Candidate& candidate : line.candidates) {
    text += candidate.word;
    if (!candidate.help.empty()) text += '\t' + candidate.help;
    text += '\n';
  }
  text.append(":").append(line.also);
  if (line.also == "job") text += ' ' + std::to_string(line.job);
  return text + '\n';
}

Invocation completions(const std::vector<std::string>& args,
                       const config::Environment& environment) {
  if (args.empty()) misused("no shell: redlock completions bash|zsh|fish");
  const std::string& shell = args.front();
  if (shell == "for") return complete({args.begin() + 1, args.end()}, environment);
  if (shell == "-h" || shell == "--help") return Print{std::string(kHelp), true};
  const auto* const script = std::ranges::find(kScripts, shell, &Script::shell);
  if (script == std::end(kScripts)) {
    misused("no completions for the shell " + config::quote(shell) +
            ": redlock completions bash|zsh|fish");
  }
  if (args.size() > 1) misused("unexpected argument " + config::quote(args[1]));
  return Print{std::string(script->text)};
}

}  // namespace redlock::cli
