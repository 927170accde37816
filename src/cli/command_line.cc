// SPDX-License-Identifier: MIT
#include "cli/command_line.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "cli/help.h"
#include "cli/split.h"
#include "config/value.h"
#include "lock/protocol.h"
#include "lock/value.h"
#include "os/clock.h"
#include "redis/requests/keys.h"

namespace redlock::cli {
namespace {

using config::Command;
using config::Draft;
using config::Environment;
namespace key = config::key;
using config::Origin;
using config::quote;

std::string version() {
  return "redlock " REDLOCK_VERSION "\nprotocol " + std::to_string(lock::kProtocol) +
         "\n" REDLOCK_BUILT_WITH;
}

/// The first word of `line`. `usage`: the command as the user should have written it.
const std::string& lock_name(const Line& line, std::string_view usage) {
  if (line.words.empty()) misused("no lock name: redlock " + std::string(usage));
  redis::check_lock_name(line.words.front());
  return line.words.front();
}

void allow_one_name(const Line& line, const std::string& command) {
  if (line.words.size() <= 1) return;
  if (command == "hold") {
    const auto time = config::parse_duration(line.words[1]);
    if (time > std::chrono::seconds(0)) {
      misused("unexpected argument " + quote(line.words[1]) + ": write --for " + line.words[1]);
    }
  }
  misused("unexpected argument " + quote(line.words[1]) + ": " + command +
          " runs no command (redlock run NAME -- COMMAND does)");
}

/// Of a completed draft. The prefix and a name may each be valid, and the key too long.
Request request_of(Draft& draft, const std::vector<std::string>& names) {
  for (const std::string& name : names) redis::check_lock_name(draft.settings.prefix + name);
  return {static_cast<config::Options&>(draft), std::move(draft.settings)};
}

enum class For { any, job };

void exclude(bool both, std::string_view one, std::string_view other, std::string_view why = "") {
  if (!both) return;
  misused(std::string(one).append(" and ").append(other).append(" exclude each other").append(why));
}

/// Completes the settings. A command that takes a lock for a job needs a lease that is safe for it,
/// and time for the job to end.
Request settle(Draft& draft, const Environment& environment, const std::vector<std::string>& names,
               For purpose = For::any) {
  complete(draft, environment);
  if (purpose == For::job) {
    check_kill_after(draft);
    check_restart_grace(draft);
    const bool redisson = draft.settings.as == config::As::redisson;
    exclude(redisson && draft.settings.slots > 0, "--as redisson", "--slots");
    exclude(redisson && draft.settings.shared, "--as redisson", "-s/--shared");
    exclude(redisson && draft.settings.hold_on_failure.count() > 0, "--as redisson",
            "--hold-on-failure");
  }
  return request_of(draft, names);
}

/// The options for a run that has one lock, and has it alone.
std::array<std::pair<bool, std::string_view>, 4> alone_options(const config::Settings& settings) {
  return {{{settings.hold_on_failure.count() > 0, "--hold-on-failure"},
           {settings.newest, "--newest"},
           {settings.build.has_value(), "--build"},
           {settings.replaces, "--replace"}}};
}

/// What run and acquire must not combine.
void check_mode(const Draft& draft) {
  const config::Settings& settings = draft.settings;
  const bool slots = settings.slots > 0;
  const bool once = settings.once.count() > 0;
  const bool min_hold = settings.min_hold.count() > 0;
  exclude(slots && settings.shared, "--slots", "-s/--shared");
  exclude(slots && once, "--slots", "--once");
  exclude(slots && min_hold, "--slots", "--min-hold");
  exclude(settings.shared && min_hold, "-s/--shared", "--min-hold",
          ": a minimum hold needs an exclusive lock");
  exclude(settings.shared && once, "-s/--shared", "--once",
          ": several readers may run at the same time");
  exclude(once && settings.build, "--once", "--build");
  exclude(settings.newest && settings.max_waiting > 0, "--newest", "--max-waiting");
  for (const auto& [given, flag] : alone_options(settings)) {
    exclude(given && slots, flag, "--slots");
    exclude(given && settings.shared, flag, "-s/--shared");
  }
  const bool waits = !draft.nonblocking && settings.wait != std::chrono::nanoseconds::zero();
  exclude(settings.replaces && !waits, "--replace", "-n/--nonblock",
          ": a run that replaces another waits until the other one's job has ended");
}

/// --once and --min-hold are for one lock: another lock could keep the command from running.
void check_also(const Draft& draft, const std::string& name) {
  std::set<std::string_view> names{name};
  for (const std::string& each : draft.also) {
    if (!names.insert(each).second) misused("--also: the lock " + quote(each) + " is named twice");
  }
  const bool also = !draft.also.empty();
  exclude(also && draft.settings.once.count() > 0, "--also", "--once");
  exclude(also && draft.settings.min_hold.count() > 0, "--also", "--min-hold");
  for (const auto& [given, flag] : alone_options(draft.settings)) {
    exclude(also && given, "--also", flag);
  }
}

Invocation run(Line line, Draft draft, const Environment& environment) {
  if (line.words.empty() && !line.job.empty()) {
    misused("no lock name: NAME goes before the --, as in: redlock run NAME -- COMMAND");
  }
  const std::string name = lock_name(line, "run NAME -- COMMAND (see: redlock run --help)");
  if (draft.shell_command) {
    if (!line.job.empty()) {
      misused("-c/--command: expected the whole command in one word, but " +
              quote(line.job.front()) + " follows");
    }
    const std::string shell = config::variable(environment, "SHELL");
    line.job = {shell.empty() ? "/bin/sh" : shell, "-c", *draft.shell_command};  // as flock(1)
  }
  if (line.job.empty()) {
    misused("no command to run under the lock " + quote(name) + ": redlock run NAME -- COMMAND");
  }
  check_mode(draft);
  if (draft.settings.once.count() == 0 && draft.origin(key::once_exit_code) == Origin::flag) {
    misused("--once-exit-code needs --once");
  }
  exclude(draft.no_fork && draft.close, "-F/--no-fork", "-o/--close");
  check_also(draft, name);
  line.words.insert(line.words.end(), draft.also.begin(), draft.also.end());
  Request request = settle(draft, environment, line.words, For::job);
  return Run{std::move(request.settings), name, std::move(line.job), std::move(draft.also), {}};
}

Invocation acquire(Line line, Draft draft, const Environment& environment) {
  const std::string& name = lock_name(line, "acquire NAME");
  allow_one_name(line, "acquire");
  if (draft.on_lost_signal != 0 && !draft.keep_for) {
    misused("--on-lost-signal needs --keep-for PID");
  }
  check_mode(draft);
  return Acquire{{settle(draft, environment, line.words, For::job), name}};
}

/// The length that --for or --until gives, from now on.
std::optional<std::chrono::milliseconds> hold_length(const Draft& draft) {
  exclude(draft.hold_for && draft.until, "--for", "--until");
  if (!draft.until) return draft.hold_for;
  return std::max<std::chrono::milliseconds>(*draft.until - os::unix_now(),
                                             std::chrono::seconds(1));
}

Invocation hold(Line line, Draft draft, const Environment& environment) {
  const std::string& name = lock_name(line, "hold NAME --for TIME");
  allow_one_name(line, "hold");
  const auto length = hold_length(draft);
  if (!length) misused("how long is the hold? give --for TIME or --until WHEN");
  return Hold{{settle(draft, environment, line.words), name}, *length};
}

/// Takes the second word. It may be a token, so no message repeats it.
std::string take_token(Line& line, Command command) {
  const std::string form = std::string(command_name(command)) + " NAME TOKEN";
  lock_name(line, form);
  if (line.words.size() < 2) {
    misused("no token: redlock " + form +
            "; redlock acquire prints the token (-: read it from standard input)" +
            (command == config::kRelease
                 ? "; to take the lock from its holder: redlock release --force NAME"
                 : ""));
  }
  if (line.words.size() > 2) misused("too many arguments: redlock " + form);
  std::string token = std::move(line.words.back());
  line.words.pop_back();
  if (token == "-") return {};
  if (!lock::is_token(token)) {
    misused("this is not a token: expected the 40 digits that redlock acquire printed, or -");
  }
  return token;
}

Invocation renew(Line line, Draft draft, const Environment& environment) {
  std::string token = take_token(line, config::kRenew);
  const auto length = hold_length(draft);
  const bool has_ttl = draft.origin(key::renew_ttl) == Origin::flag;
  if (length && has_ttl) misused("--ttl excludes --for and --until");
  complete(draft, environment);
  if (has_ttl) check_restart_grace(draft);
  return Renew{
      {request_of(draft, line.words), line.words.front()}, std::move(token), has_ttl, length};
}

/// Of `option`, which needs no token. The second word may be one, so no message repeats it.
template <class Release>
Invocation release_with(const std::string& option, const Line& line, Draft draft,
                        const Environment& environment) {
  const std::string usage = "release " + option + " NAME";
  const std::string& name = lock_name(line, usage);
  if (line.words.size() > 1) misused("too many arguments: redlock " + usage);
  if (draft.origin(key::server_wait) == Origin::flag) {
    misused("--server-wait needs a token: with " + option + ", redlock waits for no server");
  }
  return Release{{settle(draft, environment, line.words), name}};
}

Invocation release(Line line, Draft draft, const Environment& environment) {
  exclude(draft.force && draft.forget_build, "--force", "--forget-build");
  exclude(draft.now && draft.wait_gone, "--now", "--wait",
          ": nothing shows when the job has ended once its lock is deleted");
  if (draft.force) {
    return release_with<ForceRelease>("--force", line, std::move(draft), environment);
  }
  if (draft.now || draft.yes || draft.wait_gone) {
    misused("--now, --yes and --wait need --force: redlock release --force NAME");
  }
  if (draft.forget_build) {
    return release_with<ForgetBuild>("--forget-build", line, std::move(draft), environment);
  }
  std::string token = take_token(line, config::kRelease);
  return Release{{settle(draft, environment, line.words), line.words.front()}, std::move(token)};
}

Invocation show_config(Line, Draft draft, const Environment& environment) {
  complete(draft, environment);
  return ShowConfig{std::move(draft)};
}

Invocation check(Line line, Draft draft, const Environment& environment) {
  const bool acl = !draft.acl_user.empty();
  exclude(acl && draft.json, "--acl", "--json");
  for (const std::string_view option : {"shared", "slots", "newest", "build", "once"}) {
    if (!acl && draft.origin(option) == Origin::flag) {
      misused("--" + std::string(option) + " needs --acl USER here");
    }
  }
  if (!acl) std::erase(line.words, "");  // an empty name counts as none; not as all locks
  return Check{
      {settle(draft, environment, line.words), line.words.empty() ? "" : line.words.front()}};
}

void check_watch(const Draft& draft) {
  const bool interval = draft.origin(key::interval) == Origin::flag;
  if (!draft.watch && interval) misused("--interval needs --watch");
  exclude(draft.watch && draft.json, "--watch", "--json");
}

Invocation status(Line line, Draft draft, const Environment& environment) {
  lock_name(line, "status NAME... (for all held locks: redlock list)");
  for (const std::string& name : line.words) redis::check_lock_name(name);
  Request request = settle(draft, environment, line.words);
  check_watch(draft);
  return Status{std::move(request), std::move(line.words)};
}

Invocation list(Line line, Draft draft, const Environment& environment) {
  exclude(draft.prometheus && draft.json, "--prometheus", "--json");
  exclude(draft.prometheus && draft.watch, "--prometheus", "--watch");
  Request request = settle(draft, environment, {});
  check_watch(draft);
  return List{std::move(request), line.words.empty() ? "" : line.words.front()};
}

Invocation history(Line line, Draft draft, const Environment& environment) {
  std::vector<std::string> names;
  for (const std::string& word : line.words) {
    if (is_pattern(word)) continue;
    redis::check_lock_name(word);
    names.push_back(word);
  }
  exclude(draft.at && draft.since, "--since", "--at");
  exclude(draft.at && draft.until, "--until", "--at");
  if (draft.since && draft.until && *draft.until <= *draft.since) {
    misused("--until is not later than --since");
  }
  exclude(draft.at && draft.last, "--last", "--at");
  exclude(draft.at && draft.failed, "--failed", "--at");
  exclude(draft.refused && draft.at, "--refused", "--at");
  exclude(draft.refused && draft.until, "--refused", "--until");
  exclude(draft.refused && draft.failed, "--refused", "--failed");
  exclude(draft.refused && draft.last, "--refused", "--last");
  exclude(draft.refused && !draft.svg.empty(), "--refused", "--svg");
  exclude(draft.refused && !draft.html.empty(), "--refused", "--html");
  const bool svg = !draft.svg.empty();
  if (svg || !draft.html.empty()) {
    const std::string_view flag = svg ? "--svg" : "--html";
    exclude(draft.json, flag, "--json");
    exclude(draft.at.has_value(), flag, "--at");
    if (draft.svg == "-" && draft.html == "-") {
      misused("--svg and --html cannot both go to standard output");
    }
  }
  return History{settle(draft, environment, names), std::move(line.words)};
}

Invocation sandbox(Line line, Draft draft, const Environment&) {
  const bool count = draft.origin(key::sandbox_servers) == Origin::flag;
  exclude(draft.sandbox_cluster && draft.sandbox_sentinel, "--cluster", "--sentinel");
  exclude(count && draft.sandbox_cluster, "-N/--servers", "--cluster");
  exclude(count && draft.sandbox_sentinel, "-N/--servers", "--sentinel");
  const Sandbox::Kind kind = draft.sandbox_cluster    ? Sandbox::Kind::cluster
                             : draft.sandbox_sentinel ? Sandbox::Kind::sentinel
                                                      : Sandbox::Kind::plain;
  return Sandbox{kind, draft.sandbox_servers, std::move(line.job)};
}

struct Maker {
  Command command;
  Invocation (*make)(Line line, Draft draft, const Environment& environment);
  std::size_t most_words = std::string::npos;
};
constexpr Maker kMakers[] = {
    {config::kRun, run},         {config::kAcquire, acquire}, {config::kHold, hold},
    {config::kRenew, renew},     {config::kRelease, release}, {config::kConfig, show_config, 0},
    {config::kCheck, check, 1},  {config::kStatus, status},   {config::kList, list, 1},
    {config::kHistory, history}, {config::kSandbox, sandbox},
};

Invocation parse_command(Command command, std::vector<std::string> words,
                         const Environment& environment) {
  Line line = split(command, words);
  if (line.request != nullptr) {
    if (line.request->name == key::version) return Print{version()};
    return Print{line.request->name == key::help_servers ? servers_help(command) : help(command),
                 true};
  }
  const Maker& maker = *std::ranges::find(kMakers, command, &Maker::command);
  if (line.words.size() > maker.most_words) {
    misused("unexpected argument " + quote(line.words[maker.most_words]) + " (see: redlock " +
            std::string(command_name(command)) + " --help)");
  }
  Draft draft = read_options(std::move(line.options));
  Invocation invocation = maker.make(std::move(line), std::move(draft), environment);
  if (auto* const run = std::get_if<Run>(&invocation)) run->words = std::move(words);
  return invocation;
}

constexpr std::string_view kTake = "run NAME -- COMMAND, or: redlock acquire NAME";
constexpr std::string_view kUnlock = "release NAME TOKEN, or: redlock release --force NAME";
constexpr std::string_view kTakeAway = "release --force NAME";
/// Words that users of other programs type (consul lock, git, docker, systemctl), and the meaning.
constexpr std::pair<std::string_view, std::string_view> kHabits[] = {
    {"lock", kTake},
    {"get", kTake},
    {"exec", "run"},
    {"unlock", kUnlock},
    {"kill", kTakeAway},
    {"delete", kTakeAway},
    {"rm", kTakeAway},
    {"extend", "renew"},
    {"refresh", "renew"},
    {"ls", "list"},
    {"ps", "list"},
    {"show", "status"},
    {"info", "status"},
    {"log", "history"},
    {"doctor", "check"},
    {"ping", "check"},
    {"test", "check"},
    {"settings", "config"},
    {"version", "--version"},
    {"stop", kTakeAway},
    {"pause", "hold"},
    {"maintenance", "hold"},
    {"metrics", "list --prometheus"},
    {"refused", "history --refused"},
};

/// The command that the user probably meant, or nothing. A word of another program (lock, ls, exec)
/// finds the command, with its form if the two do not mean quite the same.
std::string meant_command(std::string_view word) {
  for (const auto& [habit, meant] : kHabits) {
    if (habit == word) return std::string(meant);
  }
  std::vector<std::string> names;
  for (const Page& page : pages()) names.emplace_back(page.name);
  names.insert(names.end(), {"help", "completions"});
  return config::nearest(word, names);
}

[[noreturn]] void unknown_command(const std::string& word, const std::vector<std::string>& rest) {
  const bool option = word.starts_with('-');
  if (option && config::find_flag(config::kRun, word.substr(0, word.find('='))) != nullptr) {
    misused("option " + quote(word) + ": options go after the subcommand, as in: redlock run " +
            "[OPTIONS] NAME -- COMMAND");
  }
  std::string message = (option ? "unknown option " : "unknown command ") + quote(word);
  if (const std::string near = option ? "" : meant_command(word); !near.empty()) {
    message += ", did you mean: redlock " + near;
  } else if (find_command(word.substr(0, word.find(' ')))) {
    message +=
        ": these are several words in one, as the first line of a script passes them; write "
        "there: #!/usr/bin/env -S redlock run NAME -- bash";
  } else if (!option && !rest.empty()) {
    message += "; to run something while holding a lock of that name: redlock run NAME -- COMMAND";
  }
  misused(message + " (see: redlock --help)");
}

}  // namespace

bool is_pattern(std::string_view word) {
  return word.find_first_of("*?[") != std::string_view::npos;
}

bool History::about_one() const {
  return names.size() == 1 && !is_pattern(names.front());
}

Invocation parse(std::vector<std::string> args, const Environment& environment) {
  if (args.empty()) misused("no command: redlock run NAME -- COMMAND (see: redlock --help)");
  const std::string word = std::move(args.front());
  args.erase(args.begin());
  if (const auto command = find_command(word)) {
    return parse_command(*command, std::move(args), environment);
  }
  if (word == "-V" || word == "--version") return Print{version()};
  if (word == "-h" || word == "--help") return Print{main_help(), true};
  if (word == "--help-servers") return Print{servers_help(config::kRun), true};
  if (word == "completions") return completions(args, environment);
  if (word != "help") unknown_command(word, args);
  if (args.empty()) return Print{main_help(), true};
  if (const auto command = find_command(args.front())) return Print{help(*command), true};
  unknown_command(args.front(), {});
}

}  // namespace redlock::cli
