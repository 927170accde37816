// SPDX-License-Identifier: MIT
//
// Who gets which word: redlock, or the job.
#include "cli_parse.h"

namespace redlock::tests {
namespace {

using namespace std::chrono_literals;

TEST_CASE("run: the job's words arrive as they are") {
  const std::vector<Words> jobs = {
      {"true"},
      {"ls", "-l", "--", "--help"},
      {"''", "", " ", "a b", "a\nb", "\t"},
      {"echo", "[abc]", "[a,b]", "[]", "{}", "{a,b}", "%%"},
      {"x", "-n", "-w", "5", "--ttl", "9", "-S", "redis://no", "-c", "no", "-h", "-V", "--version"},
      {"x", "--help", "--ttl=1", "--server", "-E", "300", "--nonsense", "run", "sandbox", "-q"},
      {"\"q\"", "'q'", "\\", "`x`", "$HOME", "#"},
      {"grüße", "\xE2\x98\x83", "\xFF\xFE"},
      {"x", "--", "--", "-"},
      {"x", "@file", "/win", "++", "a=b", "=", "-=", "--="},
      {"-", "x"},
      {""},
  };
  for (const Words& job : jobs) {
    CAPTURE(job.front());
    Words plain = {"L"};
    plain.insert(plain.end(), job.begin(), job.end());
    CHECK(parse_run(plain).job == job);
    Words dashed = {"-n", "L", "-v", "--"};
    dashed.insert(dashed.end(), job.begin(), job.end());
    CHECK(parse_run(dashed).job == job);
  }
}

TEST_CASE("run: one -- is dropped, and a job may begin with anything after it") {
  CHECK(parse_run({"L", "--", "--", "x"}).job == Words{"--", "x"});
  CHECK(parse_run({"L", "--", "-n", "x"}).job == Words{"-n", "x"});
  CHECK(parse_run({"L", "x", "--", "y"}).job == Words{"x", "--", "y"});
}

TEST_CASE("run: odd names") {
  for (const std::string name :
       {"L", "[abc]", "[a,b]", "a b", "grüße", "a=b", "\"", "run", "{tag}x", "@", "/x", "it's"}) {
    CHECK(parse_run({name, "true"}).name == name);
  }
  check_usage({"run", "", "true"}, "name is empty");
  check_usage({"run", "-", "true"}, "must not begin with");
  check_usage({"run", "a\nb", "true"}, "control bytes");
}

TEST_CASE("run: options before and directly after the name") {
  const auto before = parse_run({"-w", "5", "-E", "9", "-v", "L", "x"}).settings;
  const auto after = parse_run({"L", "-w", "5", "-E", "9", "-v", "x"}).settings;
  const auto around = parse_run({"-w", "5", "L", "-E", "9", "-v", "--", "x"}).settings;
  for (const auto& settings : {before, after, around}) {
    CHECK(settings.wait == 5s);
    CHECK(settings.conflict_exit_code == 9);
    CHECK(settings.verbose);
  }
  CHECK_FALSE(parse_run({"L", "x", "-v"}).settings.verbose);
}

TEST_CASE("run: the ways to write an option's value") {
  for (const Words& option : std::vector<Words>{{"-w", "5"},
                                                {"-w5"},
                                                {"-vw5"},
                                                {"-vw", "5"},
                                                {"--wait", "5"},
                                                {"--wait=5"},
                                                {"--timeout=5"},
                                                {"--timeout", "5"},
                                                {"-w9", "-w5"}}) {
    Words words = option;
    words.insert(words.end(), {"L", "x"});
    CAPTURE(option.front());
    CHECK(parse_run(words).settings.wait == 5s);
    CHECK(parse_run(words).name == "L");
  }
  CHECK(parse_run({"--prefix=a=b", "L", "x"}).settings.prefix == "a=b");
  CHECK(parse_run({"--prefix", "[a,b]", "L", "x"}).settings.prefix == "[a,b]");
  CHECK(parse_run({"--prefix=", "L", "x"}).settings.prefix.empty());
  CHECK(parse_run({"--prefix=", "-v", "L", "x"}).settings.verbose);
}

TEST_CASE("run: a value that is missing or looks like an option") {
  check_usage({"run", "-w"}, "-w needs a value");
  check_usage({"run", "L", "--ttl"}, "--ttl needs a value");
  check_usage({"run", "-w", "-n", "L", "x"}, "but '-n' follows");
  check_usage({"run", "-w", "--", "L", "x"}, "but '--' follows");
  check_usage({"run", "-w", "-5", "L", "x"}, "-w/--wait: expected a time");
  check_usage({"run", "-w-5", "L", "x"}, "not '-5'");
  check_usage({"run", "--wait=-5", "L", "x"}, "not '-5'");
  check_usage({"run", "-w", "", "L", "x"}, "not ''");
  check_usage({"run", "--wait=", "L", "x"}, "not ''");
  check_usage({"run", "-w", "L", "x"}, "not 'L'");
  check_usage({"run", "-n=3", "L", "x"}, "unknown option '-='");
  check_usage({"run", "--quiet=yes", "L", "x"}, "takes no value");
  check_usage({"run", "--quiet=", "L", "x"}, "takes no value");
  check_usage({"run", "--prefix", "-x", "L", "x"}, "(if that is the value: --prefix=...)");
  for (const char* flag : {"-m", "--wait"}) {
    CHECK_FALSE(contains(failure({"run", flag, "-x", "L", "x"}).message, "if that is"));
  }
}

TEST_CASE("run: no lock name, no command") {
  check_usage({"run"}, "no lock name");
  check_usage({"run", "-n"}, "no lock name");
  check_usage({"run", "--", "L", "x"}, "NAME goes before the --");
  check_usage({"run", "-n", "-w", "L", "--", "x"}, "-w/--wait: expected a time");
  check_usage({"run", "L"}, "no command to run under the lock 'L'");
  check_usage({"run", "L", "--"}, "no command");
  check_usage({"run", "L", "-n"}, "no command");
}

TEST_CASE("run: -c") {
  const Words job = {"/bin/sh", "-c", "echo '[a,b]'; exit 3"};
  const std::string& text = job[2];
  CHECK(parse_run({"L", "-c", text}).job == job);
  CHECK(parse_run({"-c", text, "L"}).job == job);
  CHECK(parse_run({"L", "--command=" + text}).job == job);
  CHECK(parse_run({"L", "-nc", text, "--"}).job == job);
  CHECK(parse_run({"L", "-c", text}, {{"SHELL", ""}}).job == job);
  CHECK(parse_run({"L", "-c", "x"}, {{"SHELL", "/bin/zsh"}}).job == Words{"/bin/zsh", "-c", "x"});
  CHECK(parse_run({"L", "-c", "-n"}).job == Words{"/bin/sh", "-c", "-n"});
  CHECK(parse_run({"L", "-c", "[a,b]"}).job == Words{"/bin/sh", "-c", "[a,b]"});
  CHECK(parse_run({"L", "-c", ""}).job == Words{"/bin/sh", "-c", ""});
  check_usage({"run", "L", "-c", "a", "b"}, "but 'b' follows");
  check_usage({"run", "-c", "a", "L", "b"}, "but 'b' follows");
  check_usage({"run", "L", "-c", "a", "--", "b"}, "but 'b' follows");
  check_usage({"run", "L", "-c"}, "-c needs a value");
}

TEST_CASE("run: unknown and abbreviated options") {
  check_usage({"run", "--wai", "5", "L", "x"},
              "unknown option '--wai', did you mean --wait? (see: redlock run --help)");
  check_usage({"run", "--conflict", "5", "L", "x"}, "did you mean --conflict-exit-code?");
  check_usage({"run", "--nonblok", "L", "x"}, "mean --nonblock?");
  check_usage({"run", "--rsync", "L", "x"}, "unknown option '--rsync' (see");
  check_usage({"run", "--xx", "L", "x"}, "unknown option '--xx' (see");
  // An option of other commands.
  check_usage({"status", "--max-runtme", "5"}, "'--max-runtme' (see");
  check_usage({"run", "-z", "L", "x"}, "unknown option '-z' (see");
  check_usage({"run", "L", "-vz", "x"}, "'-z' in '-vz'");
  check_usage({"run", "-5", "L", "x"}, "unknown option '-5'");
  check_usage({"run", "-N", "3", "L", "x"}, "unknown option '-N'");
  check_usage({"run", "---", "L", "x"}, "unknown option '---'");
  check_usage({"run", "--=", "L", "x"}, "unknown option '--'");
  check_usage({"run", "-,", "L", "x"}, "unknown option '-,'");
  check_usage({"run", "-w,--wait", "L", "x"}, "not ',--wait'");
}

TEST_CASE(
    "an option of other programs finds the one that was meant; a grave one needs its whole name") {
  const auto meant_by = [](const char* command, const std::string& flag) {
    const std::string message = failure({command, flag, "3", "L", "x"}).message;
    CHECK(contains(message, "unknown option '" + flag + "'"));
    const std::size_t at = message.find("did you mean ");
    return at == std::string::npos ? "" : message.substr(at + 13, message.find('?') - at - 13);
  };
  for (const char* command : {"run", "acquire"}) {
    for (const char* flag : {"--max", "--limit", "-N", "--concurrency", "--max-concurrent"}) {
      CHECK(meant_by(command, flag) == "--slots");
    }
    for (const char* flag : {"--nowait", "--no-wait", "--fail-fast"}) {
      CHECK(meant_by(command, flag) == "-n");
    }
    CHECK(meant_by(command, "--reason") == "-m");
    CHECK(meant_by(command, "--reader") == "-s");
  }
  for (const char* flag : {"--limit", "-n", "-N"}) CHECK(meant_by("history", flag) == "--last");
  CHECK(meant_by("run", "--force") == "redlock release --force NAME");
  for (const std::string grave : {"--max-runtime", "--once", "--newest", "--replace", "--force"}) {
    CAPTURE(grave);
    const char* const command = grave == "--force" ? "release" : "run";
    CHECK(meant_by(command, grave.substr(0, grave.size() - 1)).empty());
    CHECK(meant_by(command, grave + "s") == grave);
  }
  for (const char* flag : {"--max-run", "--maxruntim", "--fence"}) {
    CHECK(meant_by("run", flag).empty());
  }
  CHECK(meant_by("release", "--no").empty());
}

TEST_CASE("sandbox") {
  const auto sandbox = [](const Words& words) { return parse_as<cli::Sandbox>("sandbox", words); };
  CHECK(sandbox({}).servers == 3);
  CHECK(sandbox({}).command.empty());
  CHECK(sandbox({"-N", "1"}).servers == 1);
  CHECK(sandbox({"--servers=99", "--", "ls", "-N", "[a,b]"}).command == Words{"ls", "-N", "[a,b]"});
  CHECK(sandbox({"-N5", "ls", "--"}).command == Words{"ls", "--"});
  for (const char* number : {"0", "100", "-1", "x", "", "1.5", "3 ", "99999999999"}) {
    check_usage({"sandbox", "-N", number}, "-N/--servers: expected a whole");
  }
  check_usage({"sandbox", "-n"}, "redlock sandbox --help");

  using Kind = cli::Sandbox::Kind;
  CHECK(sandbox({}).kind == Kind::plain);
  CHECK(sandbox({"--cluster"}).kind == Kind::cluster);
  CHECK(sandbox({"--sentinel", "ls", "--cluster"}).kind == Kind::sentinel);
}

TEST_CASE("help and version") {
  CHECK(printed({"--help"}) == printed({"help"}));
  CHECK(printed({"-h"}) == printed({"help"}));
  CHECK(printed({"help", "run"}) == printed({"run", "--help"}));
  CHECK(printed({"run", "-nh"}) == printed({"run", "L", "-h", "x"}));
  CHECK(printed({"run", "-h", "--bogus"}) == printed({"run", "-h"}));
  CHECK(printed({"run", "-h", "--", "x"}) == printed({"run", "-h"}));
  CHECK(printed({"config", "L", "-h"}) == printed({"config", "-h"}));
  CHECK(printed({"help", "sandbox"}) == printed({"sandbox", "-h"}));
  CHECK(printed({"-V"}).starts_with("redlock " REDLOCK_VERSION "\nprotocol 1\n"));
  CHECK(printed({"run", "--version"}) == printed({"--version"}));
  CHECK(printed({"run", "--ttl", "junk", "-V"}) == printed({"--version"}));
}

TEST_CASE("config and check take what can stand in a file, and no job") {
  const auto check = [](const Words& words) { return parse_as<cli::Check>("check", words); };
  CHECK(check({}).name.empty());
  CHECK(check({""}).name.empty());
  check_usage({"check", "--acl=cron", ""}, "name is empty", kOne);
  CHECK(check({"--ttl=5", "L", "--json"}).name == "L");
  CHECK(check({"--ttl=5", "L", "--json"}).json);
  CHECK(parse_as<cli::ShowConfig>("config", {"--ttl", "5"}).settings.ttl == 5s);
  check_usage({"check", "L", "M"}, "unexpected argument 'M'", kOne);
  check_usage({"check", "--", "L"}, "unexpected argument", kOne);
  check_usage({"check", "a{"}, "lock name", kOne);
  check_usage({"config", "L"}, "unexpected argument 'L'", kOne);
  check_usage({"acquire", "L", "date"}, "'date': acquire runs no command", kOne);
  check_usage({"hold", "L", "--for=1h", "date"}, "'date': hold runs no command", kOne);
  check_usage({"config", "-n"}, "unknown option '-n'", kOne);
  check_usage({"check", "-w", "5"}, "redlock check --help", kOne);
  check_usage({"run", "--json", "L", "x"}, "'--json'", kOne);
  check_config({"config"}, "no servers are configured");
  check_config({"check"}, "no servers are configured");
}

TEST_CASE("what can stand in a file is what has a variable of its own") {
  std::vector<std::string> keys;
  for (const config::Row& row : config::table()) {
    const std::string key = file_key(row);
    if (key.empty()) continue;
    CHECK(takes(config::kConfig, row));
    CHECK(row.type != config::Type::request);
    keys.push_back(key);
  }
  for (const char* key : {"servers", "ttl", "server-timeout", "password", "password-file"}) {
    CAPTURE(key);
    CHECK(std::count(keys.begin(), keys.end(), key) == 1);
  }
  for (const char* key : {"server", "config", "rediscli-auth", "name", "token", "wait", "help"}) {
    CAPTURE(key);
    CHECK(std::count(keys.begin(), keys.end(), key) == 0);
  }
}

TEST_CASE("words of other programs find the command") {
  const auto hint = [](const char* word, const std::string& meant) {
    check_usage({word, "L", "x"},
                "unknown command '" + std::string(word) + "', did you mean: redlock " + meant);
    check_usage({word}, "did you mean: redlock " + meant);
  };
  const std::string take_away = "release --force NAME (";
  for (const char* word : {"lock", "get"}) {
    hint(word, "run NAME -- COMMAND, or: redlock acquire NAME (");
  }
  hint("unlock", "release NAME TOKEN, or: redlock " + take_away);
  for (const char* word : {"kill", "delete", "rm", "stop"}) hint(word, take_away);
  for (const char* word : {"extend", "refresh"}) hint(word, "renew (");
  for (const char* word : {"ls", "ps"}) hint(word, "list (");
  for (const char* word : {"show", "info"}) hint(word, "status (");
  for (const char* word : {"doctor", "ping", "test"}) hint(word, "check (");
  for (const char* word : {"pause", "maintenance"}) hint(word, "hold (");
  hint("exec", "run (");
  hint("log", "history (");
  hint("settings", "config (");
  hint("version", "--version (");
  hint("metrics", "list --prometheus (");
  hint("refused", "history --refused (");
  hint("completion", "completions (");
  hint("halp", "help (");
  check_usage({"help", "ls"}, "did you mean: redlock list");
}

TEST_CASE("no command, or an unknown one") {
  check_usage({}, "no command");
  check_usage({"rum", "L", "x"}, "did you mean: redlock run");
  check_usage({"snadbox"}, "did you mean: redlock sandbox");
  check_usage({"rnu", "L", "x"}, "did you mean: redlock run");
  check_usage({"mylock", "./job.sh"}, "redlock run NAME -- COMMAND");
  check_usage({"mylock"}, "unknown command 'mylock'");
  // A script that begins with "#!/usr/bin/redlock run NAME --".
  check_usage({"run NAME --", "./script"}, "several words in one");
  check_usage({"my lock", "./job.sh"}, "redlock run NAME -- COMMAND");
  check_usage({"-n", "mylock", "./job.sh"}, "options go after the subcommand");
  check_usage({"--ttl=5", "run"}, "options go after the subcommand");
  check_usage({"--bogus"}, "unknown option '--bogus'");
  check_usage({"help", "bogus"}, "unknown command 'bogus'");
  check_usage({""}, "unknown command ''");
  check_usage({"redis://:geheim@x", "y"}, "'redis://***'");
}

}  // namespace
TEST_CASE("status: several names, options in between") {
  const auto of = [](const Words& words) { return parse_as<cli::Status>("status", words); };
  CHECK(of({"a"}).names == Words{"a"});
  CHECK(of({"-q", "a", "--json", "[b]", "c"}).names == Words{"a", "[b]", "c"});
  CHECK(of({"a", "--json"}).json);
  CHECK_FALSE(of({"a"}).json);
  CHECK(of({"a", "-v"}).settings.verbose);
  check_usage({"status"}, "no lock name");
  check_usage({"status", "-q"}, "no lock name");
  check_usage({"status", "a", "redlock:{b}"}, "redlock's own");
  check_usage({"status", "a", "-n"}, "unknown option '-n'");
  check_usage({"status", "a", "--ttl", "5"}, "unknown option");
  check_config({"status", "a"}, "no servers");
}

TEST_CASE("list: at most one pattern, which may be anything") {
  const auto of = [](const Words& words) { return parse_as<cli::List>("list", words); };
  CHECK(of({}).pattern.empty());
  CHECK(of({"[ab]*{"}).pattern == "[ab]*{");
  CHECK(of({"a*", "--json"}).json);
  check_usage({"list", "a", "b"}, "unexpected argument");
  check_config({"list"}, "no servers");
}

TEST_CASE("history: names, patterns, and times that have passed") {
  const auto of = [](const Words& words) { return parse_as<cli::History>("history", words); };
  CHECK(of({"a"}).about_one());
  CHECK(of({}).names.empty());
  CHECK_FALSE(of({}).about_one());
  for (const char* pattern : {"a*", "a?", "[a]"}) CHECK_FALSE(of({pattern}).about_one());
  CHECK(of({"a", "{*"}).names == std::vector<std::string>{"a", "{*"});
  CHECK(of({"--last", "3", "--failed"}).last == 3);
  CHECK_FALSE(of({"a"}).since);
  CHECK(of({"a", "--json"}).json);
  CHECK(of({"--at", "1970-01-02T00:00Z", "a"}).at == std::chrono::hours(24));
  CHECK(of({"a", "--since", "2h"}).since > std::chrono::hours(24 * 365 * 50));
  check_usage({"history", "a", "--last", "0"}, "--last: expected");
  check_usage({"history", "{"}, "braces");
  check_config({"history", "a"}, "no servers");
  check_usage({"history", "a", "--since", "soon"}, "--since: expected a time in the past");
  check_usage({"history", "a", "--at", "2400-01-01"}, "in the past");
}

}  // namespace redlock::tests
