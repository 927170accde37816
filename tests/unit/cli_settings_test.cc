// SPDX-License-Identifier: MIT
//
// What the options and variables mean, which of them wins, and what is said about bad ones.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>

#include "cli_parse.h"

namespace redlock::tests {
namespace {

using namespace std::chrono_literals;

config::Settings settings(Words options, Variables variables = {}) {
  options.insert(options.end(), {"L", "x"});
  return parse_run(std::move(options), std::move(variables)).settings;
}

/// The failure of `redlock run OPTIONS L x` with one server in the environment.
Failure refused(Words options, Variables variables = {}) {
  options.insert(options.begin(), "run");
  options.insert(options.end(), {"L", "x"});
  variables.emplace("REDLOCK_SERVERS", "redis://one");
  return failure(std::move(options), std::move(variables));
}
void refuses_usage(Words options, const std::string& part, Variables variables = {}) {
  check_failure(refused(std::move(options), std::move(variables)), ExitStatus::usage, part);
}
void refuses_config(Words options, const std::string& part, Variables variables = {}) {
  check_failure(refused(std::move(options), std::move(variables)), ExitStatus::config, part);
}

TEST_CASE("settings: defaults, which are those of the table") {
  const auto all = [](const config::Settings& of) {
    return std::tuple(of.ttl, of.min_hold, of.once_exit_code, of.conflict_exit_code, of.stop_signal,
                      of.log_entries, of.record_command, of.server_timeout, of.server_wait,
                      of.restart_grace, of.replicas, of.as, of.slots, of.progress, of.color);
  };
  for (const config::Row& row : config::table()) {
    const std::string text(row.default_text);
    const bool is_word = text == "all" || text == "now" || text == "none" || contains(text, " ");
    config::Draft draft;
    CAPTURE(text);
    if (!text.empty() && !is_word) CHECK_NOTHROW(config::store(row, draft, text, {}));
    CHECK_MESSAGE(all(draft.settings) == all({}), row.name);
  }
  const config::Settings got = settings({});
  CHECK((got.prefix.empty() && !got.kill_after && !got.wait && !got.max_runtime));
  CHECK((!got.quiet && !got.verbose));
}

TEST_CASE(
    "settings: which flags a command needs that redlock suggests: no secret, and no variable") {
  CHECK(settings({"--ttl", "60", "--server-wait", "1"},
                 {{"REDLOCK_SERVERS", "redis://one"}, {"REDLOCK_PREFIX", "p:"}})
            .where.empty());
  CHECK(settings({"-S", "redis://:secret@one", "--server=redis://two:7/3", "--prefix",
                  "p:", "--as=redisson", "--tls-insecure", "-n"})
            .where == Words{"-S", "redis://:***@one:6379", "-S", "redis://two:7/3", "--prefix",
                            "p:", "--as", "redisson", "--tls-insecure"});
  // A password in the URI would override the one that the next command finds by itself.
  CHECK(settings({"-S", "redis://one"}, {{"REDLOCK_PASSWORD", "secret"}}).where ==
        Words{"-S", "redis://one:6379"});
}

TEST_CASE("settings: each flag") {
  const config::Settings got =
      settings({"--ttl", "60", "--kill-after=20s", "--server-timeout", "1", "--server-wait=0",
                "--prefix", "p:", "--max-runtime", "2h", "-E", "0", "-q", "-v", "-F", "-x", "-e"});
  CHECK(got.ttl == 60s);
  CHECK(got.kill_after == 20s);
  CHECK(got.server_timeout == 1s);
  CHECK(got.server_wait == 0s);
  CHECK(got.prefix == "p:");
  CHECK(got.max_runtime == 2h);
  CHECK(got.conflict_exit_code == 0);
  CHECK(got.quiet);
  CHECK(got.verbose);
  CHECK_FALSE(settings({"--max-runtime", "5", "--max-runtime", "0"}).max_runtime);
  CHECK(settings({"-E", "255"}).conflict_exit_code == 255);
}

TEST_CASE("settings: -n beats -w and --max-waiting in either order, and 0 of either is -n") {
  for (const char* flag : {"-n", "--nb", "--nonblock", "--nonblocking"}) {
    CHECK(settings({flag}).wait == 0s);
    for (const char* limit : {"--wait=5", "--max-waiting=5"}) {
      CHECK(settings({flag, limit}).wait == 0s);
      CHECK(settings({limit, flag}).wait == 0s);
    }
  }
  CHECK(settings({"--max-waiting=0"}).wait == 0s);
  CHECK_FALSE(settings({"--max-waiting=5"}).wait);
  CHECK(settings({"-w", "0"}).wait == 0s);
  CHECK(settings({"-w", ".007"}).wait == 7ms);
}

TEST_CASE("settings: flock's other options") {
  CHECK(settings({"-s"}).shared);
  CHECK(settings({"--shared"}).shared);
  CHECK(settings({"-x", "-s"}).shared);
  CHECK(settings({"-sxs"}).shared);
  CHECK_FALSE(settings({}).shared);
  CHECK_FALSE(settings({"-s", "-x"}).shared);
  CHECK_FALSE(settings({"-xse"}).shared);
  CHECK_FALSE(settings({"-s", "--exclusive"}).shared);
  refuses_usage({"-s", "--min-hold", "1m"}, "needs an exclusive lock");
  CHECK(settings({"-o"}).ttl == 30s);
  refuses_usage({"--build", "7a"}, "a whole number");
  refuses_usage({"--build", "9007199254740992"}, "a whole number");
  CHECK(settings({"--build", "9007199254740991"}).build == 9007199254740991U);
  refuses_usage({"-u"}, "nothing to unlock");
  refuses_usage({"--unlock"}, "nothing to unlock");
}

TEST_CASE("settings: --acl takes a user whom nobody else is") {
  for (const char* const user : {"", "default", "a b", "a\x1b", "a\n"}) {
    check_usage({"check", "--acl", user}, "--acl: expected a user for jobs alone", kOne);
  }
  CHECK(parse_as<cli::Check>("check", {"--acl", "default2"}).acl_user == "default2");
}

TEST_CASE("settings: a time that must last is rounded up, a limit down") {
  const config::Settings got = settings(
      {"--min-hold=1.0001", "--once=1.0001", "--hold-on-failure=1.0001", "--restart-grace=59.1"});
  CHECK(got.min_hold == 1001ms);
  CHECK(got.once == 1001ms);
  CHECK(got.hold_on_failure == 1001ms);
  CHECK(got.restart_grace == 60s);
  CHECK(settings({"--ttl=9.0009"}).ttl == 9s);
  CHECK(settings({"--server-wait=1.0009"}).server_wait == 1s);
}

TEST_CASE("settings: each bad flag is 64, each bad variable 78, and both are named") {
  struct Case {
    const char* flag;
    const char* variable;
    const char* value;
  };
  for (const Case& c : {Case{"--ttl", "REDLOCK_TTL", "0.9"},
                        {"--ttl", "REDLOCK_TTL", "86401"},
                        {"--ttl", "REDLOCK_TTL", "nan"},
                        {"--ttl", "REDLOCK_TTL", "[30]"},
                        {"--kill-after", "REDLOCK_KILL_AFTER", "soon"},
                        {"--kill-after", "REDLOCK_KILL_AFTER", "10001ms"},
                        {"--server-timeout", "REDLOCK_SERVER_TIMEOUT", "0"},
                        {"--server-wait", "REDLOCK_SERVER_WAIT", "1y"},
                        {"--prefix", "REDLOCK_PREFIX", "redlock-tag:"},
                        {"--server", "REDLOCK_SERVERS", "db1"},
                        {"--server", "REDLOCK_SERVERS", "http://db1"}}) {
    CAPTURE(c.variable);
    CAPTURE(c.value);
    refuses_usage({c.flag, c.value}, std::string(c.flag) + ": ");
    refuses_config({}, std::string(c.variable) + ": ", {{c.variable, c.value}});
  }
  for (const char* number : {"256", "-1", "x", "", "1.0", "0x1"}) {
    refuses_usage({"-E", number}, "-E/--conflict-exit-code: expected");
  }
  refuses_usage({"--max-runtime", "inf"}, "--max-runtime: expected");
}

TEST_CASE("settings: a flag beats a variable, even a broken one; empty is not set") {
  CHECK(settings({}, {{"REDLOCK_TTL", "40s"}}).ttl == 40s);
  CHECK(settings({"--ttl", "50"}, {{"REDLOCK_TTL", "40s"}}).ttl == 50s);
  CHECK(settings({"--ttl", "50"}, {{"REDLOCK_TTL", "junk"}}).ttl == 50s);
  CHECK(settings({}, {{"REDLOCK_TTL", ""}, {"REDLOCK_PASSWORD", ""}}).ttl == 30s);
  CHECK(settings({"--prefix="}, {{"REDLOCK_PREFIX", "p:"}}).prefix.empty());
}

TEST_CASE("settings: the variables set for the job are never read") {
  const auto run = parse_run({"L", "x"}, {{"REDLOCK_NAME", "other"},
                                          {"REDLOCK_TOKEN", "t"},
                                          {"REDLOCK_FENCE", "f"},
                                          {"REDLOCK_SLOT", "s"},
                                          {"REDLOCK_HELD", "h"}});
  CHECK(run.name == "L");
}

TEST_CASE("settings: the grace is at most a third of the ttl") {
  CHECK(settings({"--ttl", "9", "--kill-after", "3"}).kill_after == 3s);
  CHECK(settings({"--kill-after", "0"}).kill_after == 0s);
  refuses_usage({"--ttl", "9", "--kill-after", "3.001"}, "at most a third of the ttl of 9s");
  refuses_usage({"--ttl", "9"}, "REDLOCK_KILL_AFTER", {{"REDLOCK_KILL_AFTER", "4"}});
  refuses_config({}, "REDLOCK_KILL_AFTER", {{"REDLOCK_TTL", "9"}, {"REDLOCK_KILL_AFTER", "4"}});
}

TEST_CASE("settings: with several servers the restart grace is at least the ttl") {
  const Variables two = {{"REDLOCK_SERVERS", "redis://one redis://two"}};
  CHECK(settings({"--ttl", "61"}).ttl == 61s);
  CHECK(settings({"--ttl", "60"}, two).ttl == 60s);
  CHECK(settings({"--restart-grace", "0"}, two).restart_grace == 0s);
  refuses_usage({"--ttl", "61"}, "--ttl: 1m1s is more than the --restart-grace of 1m: ", two);
  Variables file = two;
  file["REDLOCK_RESTART_GRACE"] = "29";
  refuses_config({}, "REDLOCK_RESTART_GRACE: 29s is less than the ttl of 30s: ", file);
  refuses_usage({"--ttl", "40"}, "--ttl: 40s is more than", file);
}

TEST_CASE("servers: the environment's list is split at white space, and a flag replaces it") {
  const Variables two = {{"REDLOCK_SERVERS", "  redis://a:1/2 \n\tunix:///run/r.sock  "}};
  const auto from_environment = settings({}, two).servers;
  REQUIRE(from_environment.size() == 2);
  CHECK(from_environment[0].address.host == "a");
  CHECK(from_environment[0].db == 2);
  CHECK(from_environment[1].path == "/run/r.sock");
  const auto from_flags =
      settings({"-S", "redis://c", "--server=redis://d", "-Sredis://e"}, two).servers;
  REQUIRE(from_flags.size() == 3);
  CHECK(from_flags[0].address.host == "c");
  CHECK(from_flags[2].address.host == "e");
  CHECK(settings({"-S", "redis://c"}, {{"REDLOCK_SERVERS", "junk"}}).servers.size() == 1);
}

TEST_CASE("servers: none is an error that says what to do") {
  for (const Variables& none : {Variables{}, Variables{{"REDLOCK_SERVERS", ""}}}) {
    const Failure got = failure({"run", "L", "x"}, none);
    check_failure(got, ExitStatus::config, "--server");
    check_failure(got, ExitStatus::config, "REDLOCK_SERVERS");
    check_failure(got, ExitStatus::config, "redlock sandbox");
    CHECK_FALSE(contains(got.message, "/dev/null"));
  }
  check_config({"run", "L", "x"}, "REDLOCK_SERVERS: expected", {{"REDLOCK_SERVERS", " \n"}});
  check_usage({"run", "-S", "", "L", "x"}, "-S/--server: expected");
}

TEST_CASE("servers: one server twice has no two votes") {
  refuses_usage({"-S", "redis://a", "-S", "redis://b", "-S", "redis://u:geheim@a:6379/3"},
                "occurs twice");
  check_config({"run", "L", "x"}, "REDLOCK_SERVERS: unix:///r occurs twice",
               {{"REDLOCK_SERVERS", "unix:///r unix:///r?db=1"}});
  CHECK(settings({"-S", "redis://a", "-S", "redis://a:6380"}).servers.size() == 2);
  // Sentinels may know several primaries, by their services; and a Cluster is one by each node.
  const std::string sentinel = "redis+sentinel://a,b/";
  CHECK(settings({"-S", sentinel + "one", "-S", sentinel + "two"}).servers.size() == 2);
  refuses_usage({"-S", sentinel + "one", "-S", "redis+sentinel://c,b/one"}, "occurs twice");
  refuses_usage({"-S", "redis+cluster://a,b", "-S", "redis+cluster://c,b"}, "occurs twice");
}

TEST_CASE("servers: a word that is not a URI, and quotation marks") {
  const auto why = [](const std::string& value) {
    return refused({}, {{"REDLOCK_SERVERS", value}}).message;
  };
  const std::string not_one = "\" is not a server's URI; write ";
  CHECK(why("db1") == "REDLOCK_SERVERS: \"db1" + not_one + "redis://db1");
  CHECK(why(" db1:6379/2 db2") == "REDLOCK_SERVERS: \"db1:6379/2" + not_one + "redis://db1:6379/2");
  CHECK(why("/run/a.sock") == "REDLOCK_SERVERS: \"/run/a.sock" + not_one + "unix:///run/a.sock");
  CHECK(refused({"-S", "a"}).message == "-S/--server: \"a" + not_one + "redis://a");
  // These may be passwords, or parts of one with a blank.
  for (const std::string value : {"u:geheim@db1", "redis://:x geheim", "geheim redis://db1"}) {
    CHECK_FALSE(contains(why(value), "geheim"));
  }
  for (const std::string value : {"\"redis://db1\"", "'redis://db1 redis://:geheim@db2'"}) {
    CHECK(why(value) ==
          "REDLOCK_SERVERS: the value begins with a quotation mark; remove it, and the one at the "
          "end (docker's --env-file keeps them)");
  }
}

TEST_CASE("servers: a message says which of several is wrong, wherever it stands") {
  for (std::size_t count = 1; count <= 4; ++count) {
    for (std::size_t wrong = 0; wrong < count; ++wrong) {
      CAPTURE(count);
      CAPTURE(wrong);
      Words flags;
      std::string all;
      for (std::size_t at = 0; at < count; ++at) {
        const std::string uri = at == wrong ? "redis://h:x" : "redis://h" + std::to_string(at);
        flags.insert(flags.end(), {"-S", uri});
        all += uri + " ";
      }
      const std::string number = "server " + std::to_string(wrong + 1) + ": ";
      // Alone, or as the first flag, it needs no number.
      CHECK(contains(refused(flags).message, number) == (wrong > 0));
      CHECK(contains(refused({}, {{"REDLOCK_SERVERS", all}}).message, number) == (count > 1));
    }
  }
}

TEST_CASE("TLS: messages about a file name where it comes from") {
  using Names = redis::TlsSettings::Names;
  const std::pair<std::string, std::string Names::*> files[] = {
      {"ca", &Names::ca}, {"ca-dir", &Names::ca_dir}, {"cert", &Names::cert}, {"key", &Names::key}};
  for (const auto& each : files) {
    const std::string& file = each.first;
    const auto name = each.second;
    CAPTURE(file);
    std::string variable = "REDLOCK_TLS_" + file;
    std::ranges::transform(variable, variable.begin(),
                           [](unsigned char c) { return c == '-' ? '_' : std::toupper(c); });
    CHECK(settings({}).tls.names.*name == "--tls-" + file);
    CHECK(settings({"--tls-" + file, "f"}).tls.names.*name == "--tls-" + file);
    CHECK(settings({}, {{variable, "f"}}).tls.names.*name == variable);
  }
}

TEST_CASE("servers: no password in any message") {
  for (const char* uri :
       {"redis://u:geheim@", "redis://u:geheim@h:x", "http://u:geheim@h", "u:geheim@h"}) {
    CAPTURE(uri);
    const Failure flag = refused({"-S", uri});
    CHECK(flag.status == ExitStatus::usage);
    CHECK_FALSE(contains(flag.message, "geheim"));
    CHECK_FALSE(contains(refused({}, {{"REDLOCK_SERVERS", uri}}).message, "geheim"));
  }
  CHECK_FALSE(
      contains(refused({"-S", "redis://:geheim@a", "-S", "redis://:geheim@a"}).message, "geheim"));
}

/// A file with this content, removed at the end.
class PasswordFile {
 public:
  explicit PasswordFile(const std::string& content) {
    const int descriptor = mkstemp(path_.data());
    REQUIRE(descriptor >= 0);
    close(descriptor);
    std::ofstream(path_) << content;
  }
  ~PasswordFile() { std::remove(path_.c_str()); }
  PasswordFile(const PasswordFile&) = delete;
  PasswordFile& operator=(const PasswordFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/redlock-password.XXXXXX";
};

std::string password(const Words& options, const Variables& variables) {
  return settings(options, variables).servers.at(0).credentials.password;
}

TEST_CASE("passwords: URI, --password-file, REDLOCK_PASSWORD and its _FILE, REDISCLI_AUTH") {
  const PasswordFile by_flag("flag\n");
  const PasswordFile by_variable("file\r\n");
  Variables all = {{"REDLOCK_SERVERS", "redis://:uri@one"},
                   {"REDLOCK_PASSWORD", "variable"},
                   {"REDLOCK_PASSWORD_FILE", by_variable.path()},
                   {"REDISCLI_AUTH", "rediscli"}};
  const Words flag = {"--password-file", by_flag.path()};
  CHECK(password(flag, all) == "uri");
  all["REDLOCK_SERVERS"] = "redis://one";
  CHECK(password(flag, all) == "flag");
  CHECK(settings(flag, all).servers.at(0).credentials.file == by_flag.path());
  CHECK(password({}, all) == "variable");
  CHECK(settings({}, all).servers.at(0).credentials.file.empty());
  all.erase("REDLOCK_PASSWORD");
  CHECK(password({}, all) == "file");
  all.erase("REDLOCK_PASSWORD_FILE");
  CHECK(password({}, all) == "rediscli");
  all.erase("REDISCLI_AUTH");
  CHECK(password({}, all).empty());
}

TEST_CASE("passwords: given to each server without one, users kept") {
  const auto servers = settings({}, {{"REDLOCK_SERVERS", "redis://a redis://u:own@b redis://v:@c"},
                                     {"REDLOCK_PASSWORD", "shared"}})
                           .servers;
  CHECK(servers.at(0).credentials.password == "shared");
  CHECK(servers.at(1).credentials.password == "own");
  CHECK(servers.at(2).credentials.password == "shared");
  CHECK(servers.at(2).credentials.user == "v");
}

TEST_CASE("passwords: a file that cannot be used is a wrong configuration") {
  const PasswordFile empty("\n");
  const PasswordFile lines("a\nb\n");
  refuses_config({"--password-file", "/nonexistent/x"},
                 "--password-file \"/nonexistent/x\": No such file");
  refuses_config({}, "No such", {{"REDLOCK_PASSWORD_FILE", "/nonexistent/x"}});
  refuses_config({"--password-file", "/tmp"}, "Is a directory");
  refuses_config({"--password-file", "/dev/null"}, "empty");
  refuses_config({"--password-file", "/dev/zero"}, "too long");
  refuses_config({"--password-file", empty.path()}, "it is empty");
  refuses_config({"--password-file", lines.path()}, "one line");
  refuses_usage({"--password-file", ""}, "--password-file: expected");
}

TEST_CASE("names: prefix and name together must be a key") {
  const std::string half(200, 'x');
  CHECK(parse_run({"--prefix", std::string(55, 'p'), half, "x"}).name == half);
  check_usage({"run", "--prefix", std::string(56, 'p'), half, "x"}, "255", kOne);
  check_usage({"run", "--prefix", "{a}", "{b}", "x"}, "braces", kOne);
  const std::string token(40, 'a');
  for (Words words : {Words{"run", "L", "--also", half, "x"},
                      {"acquire", half},
                      {"hold", half, "--for=1h"},
                      {"renew", half, token},
                      {"release", half, token},
                      {"release", "--force", half},
                      {"release", "--forget-build", half},
                      {"check", half},
                      {"status", "L", half},
                      {"history", "L", half}}) {
    words.insert(words.begin() + 1, "--prefix=" + std::string(56, 'p'));
    CAPTURE(words.front());
    check_usage(words, "longer than 255", kOne);
  }
  check_usage({"run", "redis://:geheim@one", "x"}, "--server", kOne);
}

}  // namespace
}  // namespace redlock::tests
