// SPDX-License-Identifier: MIT
#include "cli/completions.h"

#include <utility>

#include "cli/complete.h"
#include "cli/misuse.h"
#include "cli/options.h"
#include "config/quote.h"
#include "error.h"

namespace redlock::cli {
namespace {

constexpr std::string_view kHelp =
    R"(redlock completions: print a script that completes redlock's commands,
options and values, the names of held locks, and the job's own words

Example:
  source <(redlock completions bash)

Usage:
  redlock completions bash|zsh|fish

cmake --install and the packages put the scripts where the shells find them.
)";

/// Makes the settings for the line's options, to ask the servers for names. Where redlock would
/// refuse them, there are no names, and nobody wants to read an error in the middle of a line.
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

}  // namespace

Invocation completions(const std::vector<std::string>& args,
                       const config::Environment& environment) {
  if (args.empty()) misused("no shell: redlock completions bash|zsh|fish");
  const std::string& shell = args.front();
  if (shell == "for") {
    const std::vector<std::string> words(args.begin() + 1, args.end());
    Complete request{complete(words), words.empty() ? "" : words.back(), std::nullopt};
    if (request.completion.also == Completion::Also::lock_names) {
      request.settings = settings_of(request.completion.options, environment);
    }
    return request;
  }
  if (shell == "-h" || shell == "--help") return Print{std::string(kHelp)};
  const std::string_view script = completion_script(shell);
  if (script.empty()) {
    misused("no completions for the shell " + config::quote(shell) +
            ": redlock completions bash|zsh|fish");
  }
  if (args.size() > 1) misused(config::quote(args[1]) + " is one word too many");
  return Print{std::string(script)};
}

}  // namespace redlock::cli
