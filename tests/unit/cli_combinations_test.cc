// SPDX-License-Identifier: MIT
//
// Which options go together.
#include "cli_parse.h"

namespace redlock::tests {
namespace {

/// Why redlock refuses these options; empty: it does not.
std::string refusal_of(const char* command, Words options) {
  options.insert(options.begin(), command);
  if (command != std::string_view("list")) options.emplace_back("L");
  if (command == std::string_view("run")) options.emplace_back("job");
  const Failure got = failure(options, kOne);
  if (got.status == ExitStatus::ok) return "";
  CHECK(got.status == ExitStatus::usage);
  return got.message;
}

std::string name_of(const std::string& option) {
  return option.substr(0, option.find('='));
}

TEST_CASE("options that need another one: it is named, and with it they are taken") {
  struct Row {
    const char* command;
    Words ones;
    std::string needed;
  };
  const Row rows[] = {
      {"run", {"--once-exit-code=5"}, "--once=1h"},
      {"acquire", {"--on-lost-signal=TERM"}, "--keep-for=1"},
      {"release", {"--now", "--yes", "--wait"}, "--force"},
      {"check", {"--shared", "--slots=2", "--newest", "--build=3", "--once=1h"}, "--acl=cron"},
      {"status", {"--interval=1s"}, "--watch"},
      {"list", {"--interval=1s"}, "--watch"},
  };
  for (const Row& row : rows) {
    for (const std::string& one : row.ones) {
      CAPTURE(row.command);
      CAPTURE(one);
      const std::string why = refusal_of(row.command, {one});
      CHECK_MESSAGE(contains(why, name_of(one)), why);
      CHECK_MESSAGE(contains(why, name_of(row.needed)), why);
      CHECK(refusal_of(row.command, {one, row.needed}).empty());
    }
  }
}

TEST_CASE("options that exclude each other are named, and are free to stand alone") {
  struct Row {
    const char* command;
    Words ones;
    Words others;
  };
  const Row rows[] = {
      {"run", {"--slots=2"}, {"--shared", "--once=1m", "--min-hold=1m"}},
      {"run", {"--shared"}, {"--once=1m", "--min-hold=1m"}},
      {"run", {"--newest", "--build=7", "--replace"}, {"--shared", "--slots=2", "--also=M"}},
      {"run", {"--replace"}, {"--nonblock", "--wait=0"}},
      {"run", {"--newest"}, {"--max-waiting=1"}},
      {"run", {"--hold-on-failure=1h"}, {"--shared", "--slots=2", "--also=M", "--as=redisson"}},
      {"run", {"--once=1m"}, {"--build=7", "--also=M"}},
      {"run", {"--also=M"}, {"--min-hold=1m"}},
      {"run", {"--as=redisson"}, {"--shared", "--slots=2"}},
      {"run", {"--no-fork"}, {"--close"}},
      {"release", {"--force"}, {"--forget-build"}},
      {"status", {"--watch"}, {"--json"}},
      {"list", {"--json", "--prometheus"}, {"--watch"}},
      {"list", {"--json"}, {"--prometheus"}},
      {"history", {"--at=2h"}, {"--since=2h", "--until=1h", "--last=3", "--failed"}},
      {"history", {"--at=2h"}, {"--refused", "--svg=f", "--html=f"}},
      {"history", {"--refused"}, {"--until=1h", "--failed", "--last=3", "--svg=f", "--html=f"}},
      {"history", {"--json"}, {"--svg=f", "--html=f"}},
      {"sandbox", {"--cluster"}, {"--sentinel"}},
      {"sandbox", {"--servers=3"}, {"--cluster", "--sentinel"}},
  };
  const auto excludes = [](const char* command, const std::string& one, const std::string& other) {
    CAPTURE(command);
    CAPTURE(one);
    CHECK(refusal_of(command, {one}).empty());
    CHECK(refusal_of(command, {other}).empty());
    const std::string why = refusal_of(command, {one, other});
    CHECK_MESSAGE(contains(why, "exclude each other"), other);
    CHECK_MESSAGE(contains(why, name_of(one)), why);
    // --wait=0 is -n.
    CHECK_MESSAGE(contains(why, other == "--wait=0" ? "--nonblock" : name_of(other)), why);
  };
  const auto takes = [](const std::string& option) {
    return config::find_flag(config::kAcquire, name_of(option)) != nullptr;
  };
  for (const auto& [command, ones, others] : rows) {
    for (const std::string& one : ones) {
      for (const std::string& other : others) {
        excludes(command, one, other);
        const bool both = command == std::string_view("run") && takes(one) && takes(other);
        if (both) excludes("acquire", one, other);
      }
    }
  }
}

}  // namespace
}  // namespace redlock::tests
