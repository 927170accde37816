// SPDX-License-Identifier: MIT
//
// The only file that includes CLI11: it takes seconds to compile. CLI11 gets the options and their
// values, one by one as split.h cut them; the lock's name, the job's words and -c's stay outside.
// Building its objects is slow, too: only the options that were given are defined, unless it is for
// the help.
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "cli/help.h"
#include "cli/misuse.h"
#include "cli/split.h"
#include "cli/suggest.h"
#include "config/quote.h"
#include "lock/token.h"
#include "redis/keys.h"

namespace redlock::cli {
namespace {

using config::Command;
using config::Draft;
using config::Environment;
using config::Key;
using config::Origin;
using config::quote;
using config::Row;
using config::Type;

/// trigger_on_parse: values are stored in the order they were given, across options (of -s and -x
/// the last wins). allow_extra_args(false) also keeps CLI11 from taking `[a,b]` apart.
void define(CLI::App& app, const Row& row, Draft& draft) {
  const std::string flags(row.flags);
  if (row.metavar.empty()) {
    app.add_flag_callback(
           flags, [&row, &draft] { store(row, draft, {}, {Origin::flag}); }, describe(row))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->trigger_on_parse()
        ->group(std::string(row.group));
    return;
  }
  const auto take = [&row, &draft](const CLI::results_t& values) {
    store(row, draft, values.back(), {Origin::flag});
    return true;
  };
  app.add_option(flags, take, describe(row))
      ->type_name(std::string(row.metavar))
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->trigger_on_parse()
      ->group(std::string(row.group));
}

void prepare(CLI::App& app) {
  app.set_help_flag();  // ours is in the table
}

std::string two_columns(const CLI::App& app) {
  std::string out = app.get_description();
  for (const std::string& group : app.get_groups()) {
    if (group.empty()) continue;
    out += "\n" + group + ":\n";
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() != group) continue;
      std::string left = option->get_name(false, true);
      for (std::size_t at = 0; (at = left.find(',', at)) != std::string::npos; at += 2) {
        left.replace(at, 1, ", ");
      }
      if (!option->get_type_name().empty()) left += " " + option->get_type_name();
      out += entry(left, option->get_description());
    }
  }
  return out + app.get_footer();
}

std::string help(Command command) {
  CLI::App app{std::string(help_head(command)), "redlock"};
  prepare(app);
  app.footer(help_foot(command));
  Draft draft;
  for (const Row& row : config::table()) {
    const bool shown = !row.flags.empty() && !row.group.empty();
    if (shown && takes(command, row)) define(app, row, draft);
  }
  app.formatter_fn([](const CLI::App* shown, const std::string&, CLI::AppFormatMode) {
    return two_columns(*shown);
  });
  return app.help();
}

std::string version() {
  return "redlock " REDLOCK_VERSION "\n";
}

Print answer(Command command, const Row& request) {
  return {request.key == Key::version ? version() : help(command)};
}

/// Stores what was given into `draft`.
void collect(std::vector<Given> options, Draft& draft) {
  if (options.empty()) return;
  CLI::App app;
  prepare(app);
  std::array<bool, static_cast<std::size_t>(Key::count_)> defined{};
  std::vector<std::string> words;
  for (Given& given : options) {
    const Row& row = *given.row;
    if (row.type == Type::shell_command) {
      store(row, draft, given.value, {Origin::flag});
      continue;
    }
    bool& known = defined.at(static_cast<std::size_t>(row.key));
    if (!known) define(app, row, draft);
    known = true;
    words.push_back(given.flag);
    if (!row.metavar.empty()) words.push_back(std::move(given.value));
  }
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    misused(error.what());
  }
}

/// As flock(1) does it.
std::vector<std::string> shell_job(const std::string& command, const Environment& environment) {
  std::string shell = config::variable(environment, "SHELL");
  if (shell.empty()) shell = "/bin/sh";
  return {shell, "-c", command};
}

Invocation parse_run(std::vector<std::string> words, const Environment& environment) {
  Line line = split_run(std::move(words));
  if (line.request != nullptr) return answer(config::kRun, *line.request);
  redis::check_lock_name(line.name);
  Draft draft;
  collect(std::move(line.options), draft);
  if (draft.shell_command) {
    if (!line.job.empty()) {
      misused("-c/--command: expected the whole command in one word, but " +
              quote(line.job.front()) + " follows");
    }
    line.job = shell_job(*draft.shell_command, environment);
  }
  if (line.job.empty()) {
    misused("no command to run under the lock " + quote(line.name) +
            ": redlock run NAME -- COMMAND");
  }
  Run run{resolve(std::move(draft), environment), std::move(line.name), std::move(line.job)};
  // Each may be right, and the two together too long.
  redis::check_lock_name(redis::lock_key(run.settings.prefix, run.name));
  return run;
}

void check_key(const config::Settings& settings, const std::string& name) {
  redis::check_lock_name(redis::lock_key(settings.prefix, name));
}

Invocation parse_acquire(std::vector<std::string> words, const Environment& environment) {
  Line line = split_words(config::kAcquire, std::move(words));
  if (line.request != nullptr) return answer(config::kAcquire, *line.request);
  if (line.names.empty()) misused("no lock name: redlock acquire NAME");
  redis::check_lock_name(line.names.front());
  if (line.names.size() > 1) {
    misused(quote(line.names[1]) +
            " is one word too many: acquire runs no command (redlock run NAME -- COMMAND does)");
  }
  Draft draft;
  collect(std::move(line.options), draft);
  if (draft.on_lost_signal != 0 && !draft.keep_for) {
    misused("--on-lost-signal: there is nobody to notice without --keep-for PID");
  }
  Acquire acquire{.settings = {},
                  .name = std::move(line.names.front()),
                  .json = draft.json,
                  .keep_for = draft.keep_for,
                  .on_lost_signal = draft.on_lost_signal};
  acquire.settings = resolve(std::move(draft), environment);
  check_key(acquire.settings, acquire.name);
  return acquire;
}

/// NAME and TOKEN. A word that may be a token, or a part of one, is not repeated in any message.
std::string take_token(Line& line, Command command) {
  const std::string form = "redlock " + std::string(command_name(command)) + " NAME TOKEN";
  if (line.names.empty()) misused("no lock name: " + form);
  redis::check_lock_name(line.names.front());
  if (line.names.size() < 2) {
    misused("no token: " + form + ", with what redlock acquire has printed (-: read it from " +
            "standard input)" +
            (command == config::kRelease ? "; from whoever holds it: redlock release --force NAME"
                                         : ""));
  }
  if (line.names.size() > 2) misused("too many words: " + form);
  std::string token = std::move(line.names[1]);
  if (token == "-") return {};
  if (!lock::is_token(token)) {
    misused("that is no token: expected the 40 digits that redlock acquire has printed, or -");
  }
  return token;
}

Invocation parse_renew(std::vector<std::string> words, const Environment& environment) {
  Line line = split_words(config::kRenew, std::move(words));
  if (line.request != nullptr) return answer(config::kRenew, *line.request);
  Renew renew;
  renew.token = take_token(line, config::kRenew);
  renew.name = std::move(line.names.front());
  Draft draft;
  collect(std::move(line.options), draft);
  renew.json = draft.json;
  renew.ttl = draft.renew_ttl;
  if (draft.renew_ttl) {  // for the rules that look at a ttl
    draft.settings.ttl = *draft.renew_ttl;
    draft.of(Key::ttl).source = {Origin::flag};
  }
  renew.settings = resolve(std::move(draft), environment);
  check_key(renew.settings, renew.name);
  return renew;
}

/// NAME --force. A word behind the name may be a token: it is not repeated in any message.
ForceRelease force_release(Line line, Draft draft, const Environment& environment) {
  if (line.names.empty()) misused("no lock name: redlock release --force NAME");
  redis::check_lock_name(line.names.front());
  if (line.names.size() > 1) misused("too many words: redlock release --force NAME");
  if (draft.origin(Key::server_wait) == Origin::flag) {
    misused("--server-wait goes with a token: --force waits for no server, as status does");
  }
  ForceRelease release{.settings = {},
                       .name = std::move(line.names.front()),
                       .how = draft.now ? ForceRelease::How::remove : ForceRelease::How::revoke,
                       .confirmed = draft.yes,
                       .waits = draft.wait_gone};
  release.settings = resolve(std::move(draft), environment);
  check_key(release.settings, release.name);
  return release;
}

Invocation parse_release(std::vector<std::string> words, const Environment& environment) {
  Line line = split_words(config::kRelease, std::move(words));
  if (line.request != nullptr) return answer(config::kRelease, *line.request);
  Draft draft;
  collect(std::move(line.options), draft);
  if (draft.force) return force_release(std::move(line), std::move(draft), environment);
  if (draft.now || draft.yes || draft.wait_gone) {
    misused("--now, --yes and --wait go with --force: redlock release --force NAME");
  }
  Release release;
  release.token = take_token(line, config::kRelease);
  release.name = std::move(line.names.front());
  release.settings = resolve(std::move(draft), environment);
  check_key(release.settings, release.name);
  return release;
}

Invocation parse_config(std::vector<std::string> words, const Environment& environment) {
  Line line = split_settings(config::kConfig, std::move(words));
  if (line.request != nullptr) return answer(config::kConfig, *line.request);
  ShowConfig show;
  collect(std::move(line.options), show.draft);
  complete(show.draft, environment);
  return show;
}

Invocation parse_check(std::vector<std::string> words, const Environment& environment) {
  Line line = split_settings(config::kCheck, std::move(words));
  if (line.request != nullptr) return answer(config::kCheck, *line.request);
  Draft draft;
  collect(std::move(line.options), draft);
  const bool json = draft.json;
  Check check{resolve(std::move(draft), environment), std::move(line.name), json};
  if (!check.name.empty()) {
    redis::check_lock_name(redis::lock_key(check.settings.prefix, check.name));
  }
  return check;
}

Invocation parse_status(std::vector<std::string> words, const Environment& environment) {
  Line line = split_status(std::move(words));
  if (line.request != nullptr) return answer(config::kStatus, *line.request);
  for (const std::string& name : line.names) redis::check_lock_name(name);
  Draft draft;
  collect(std::move(line.options), draft);
  const bool json = draft.json;
  Status status{resolve(std::move(draft), environment), std::move(line.names), json};
  for (const std::string& name : status.names) {
    redis::check_lock_name(redis::lock_key(status.settings.prefix, name));
  }
  return status;
}

Invocation parse_list(std::vector<std::string> words, const Environment& environment) {
  Line line = split_settings(config::kList, std::move(words));
  if (line.request != nullptr) return answer(config::kList, *line.request);
  Draft draft;
  collect(std::move(line.options), draft);
  const bool json = draft.json;
  return List{resolve(std::move(draft), environment), std::move(line.name), json};
}

Invocation parse_history(std::vector<std::string> words, const Environment& environment) {
  Line line = split_settings(config::kHistory, std::move(words));
  if (line.request != nullptr) return answer(config::kHistory, *line.request);
  if (line.name.empty()) misused("no lock name: redlock history NAME");
  redis::check_lock_name(line.name);
  Draft draft;
  collect(std::move(line.options), draft);
  if (draft.since && draft.at) misused("--since and --at exclude each other");
  History history{{}, std::move(line.name), draft.since, draft.at, draft.json};
  history.settings = resolve(std::move(draft), environment);
  redis::check_lock_name(redis::lock_key(history.settings.prefix, history.name));
  return history;
}

Invocation parse_sandbox(std::vector<std::string> words) {
  Line line = split_sandbox(std::move(words));
  if (line.request != nullptr) return answer(config::kSandbox, *line.request);
  Draft draft;
  collect(std::move(line.options), draft);
  return Sandbox{draft.sandbox_servers, std::move(line.job)};
}

Invocation parse_command(Command command, std::vector<std::string> words,
                         const Environment& environment) {
  switch (command) {
    case config::kAcquire:
      return parse_acquire(std::move(words), environment);
    case config::kRenew:
      return parse_renew(std::move(words), environment);
    case config::kRelease:
      return parse_release(std::move(words), environment);
    case config::kConfig:
      return parse_config(std::move(words), environment);
    case config::kCheck:
      return parse_check(std::move(words), environment);
    case config::kStatus:
      return parse_status(std::move(words), environment);
    case config::kList:
      return parse_list(std::move(words), environment);
    case config::kHistory:
      return parse_history(std::move(words), environment);
    case config::kSandbox:
      return parse_sandbox(std::move(words));
    case config::kRun:
      break;
  }
  return parse_run(std::move(words), environment);
}

[[noreturn]] void unknown_command(const std::string& word, const std::vector<std::string>& rest) {
  const std::string end = " (see: redlock --help)";
  if (word.starts_with('-')) {
    const bool of_run = config::find_flag(config::kRun, word.substr(0, word.find('='))) != nullptr;
    if (of_run)
      misused("option " + quote(word) + " stands behind a command, as in: redlock run " +
              "[OPTIONS] NAME -- COMMAND");
    misused("unknown option " + quote(word) + end);
  }
  const std::string near = nearest_command(word);
  if (!near.empty()) {
    misused("unknown command " + quote(word) + ", did you mean: redlock " + near + end);
  }
  if (rest.empty()) misused("unknown command " + quote(word) + end);
  misused("unknown command " + quote(word) +
          "; to run something while holding a lock of that name: " + "redlock run NAME -- COMMAND" +
          end);
}

}  // namespace

Invocation parse(std::vector<std::string> args, const Environment& environment) {
  if (args.empty()) misused("no command: redlock run NAME -- COMMAND (see: redlock --help)");
  const std::string word = std::move(args.front());
  args.erase(args.begin());
  if (const auto command = find_command(word)) {
    return parse_command(*command, std::move(args), environment);
  }
  if (word == "-V" || word == "--version") return Print{version()};
  if (word == "-h" || word == "--help") return Print{main_help()};
  if (word != "help") unknown_command(word, args);
  if (args.empty()) return Print{main_help()};
  if (const auto command = find_command(args.front())) return Print{help(*command)};
  unknown_command(args.front(), {});
}

}  // namespace redlock::cli
