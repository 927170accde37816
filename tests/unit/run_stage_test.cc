// SPDX-License-Identifier: MIT
//
// The redlocks of a run with several locks: which lock each takes, and what it hands on. What a run
// inside another one makes of REDLOCK_HELD.
#include "run/stage.h"

#include "doctest.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "answering_servers.h"
#include "driver/setup.h"
#include "error.h"

namespace redlock::run {
namespace {

using namespace std::chrono_literals;
using tests::Asked;
using tests::held_as;
using tests::Shown;

const lock::Instant kNow(1000s);
const std::string kToken(40, 'a');
constexpr auto kJob = Stage::Reader::job;
constexpr auto kHook = Stage::Reader::lost_hook;

/// The variables of the environment that a stage reads; unset again at the end.
class Environment {
 public:
  Environment(const std::string& stage, const std::string& fences) {
    ::setenv("REDLOCK_STAGE", stage.c_str(), 1);
    ::setenv("REDLOCK_FENCES", fences.c_str(), 1);
  }
  ~Environment() {
    ::unsetenv("REDLOCK_STAGE");
    ::unsetenv("REDLOCK_FENCES");
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
};

/// `redlock run m --also z --also a`.
cli::Run request() {
  return {.settings = {},
          .name = "m",
          .job = {"job"},
          .also = {"z", "a"},
          .words = {"m", "--also", "z", "--also", "a", "job"}};
}

std::string held(const std::vector<std::string>& names) {
  std::string words;
  for (const std::string& name : names) {
    words = add_held(words, driver::lock_id({}, name), {.token = kToken, .fence = 1});
  }
  return words;
}

/// What this stage of request() changes in the environment of what it runs. Its fence is 7 + stage.
Stage::Variables variables(std::size_t stage, Stage::Reader reader,
                           const std::string& token = kToken) {
  const std::vector<std::vector<std::string>> before = {{}, {"a"}, {"a", "m"}};
  const char* const fences[] = {"3 outer", "7 a", "7 a\n8 m"};
  const Environment environment(stage == 0 ? "" : std::to_string(stage) + " 99 0", fences[stage]);
  const cli::Run run = request();
  return Stage(run, held(before[stage]), kNow).variables(reader, token, 7 + stage);
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

/// The locks of a run, in the order in which its stages take them.
std::vector<std::string> order_of(const cli::Run& run) {
  std::vector<std::string> order;
  for (std::size_t stage = 0; stage <= run.also.size(); ++stage) {
    if (stage == 0) {
      order.push_back(Stage(run, "", kNow).name());
    } else {
      const Environment environment(std::to_string(stage) + " 99 0", "");
      order.push_back(Stage(run, held(order), kNow).name());
    }
  }
  return order;
}

/// Lets runs take their locks in random turns until all have ended. False: some never get theirs.
bool all_end(const std::vector<std::vector<std::string>>& runs, std::mt19937& random) {
  std::map<std::string, std::size_t> holders;
  std::vector<std::size_t> taken(runs.size(), 0);
  std::vector<bool> ended(runs.size(), false);
  while (!std::ranges::all_of(ended, std::identity())) {
    std::vector<std::size_t> able;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const bool has_all = taken[run] == runs[run].size();
      if (!ended[run] && (has_all || !holders.contains(runs[run][taken[run]]))) able.push_back(run);
    }
    if (able.empty()) return false;
    const std::size_t run = able[random() % able.size()];
    if (taken[run] < runs[run].size()) {
      holders[runs[run][taken[run]++]] = run;
    } else {
      ended[run] = true;
      std::erase_if(holders, [run](const auto& each) { return each.second == run; });
    }
  }
  return true;
}

TEST_CASE("stages: runs with several locks never wait for one another in a circle") {
  std::mt19937 random(1);
  unsigned stuck_as_given = 0;
  for (int schedule = 0; schedule < 500; ++schedule) {
    std::vector<std::vector<std::string>> in_order;
    std::vector<std::vector<std::string>> as_given;
    for (int count = 0; count < 4; ++count) {
      std::vector<std::string> names = {"a", "b", "c", "d", "e"};
      std::ranges::shuffle(names, random);
      names.resize(2 + random() % 3);
      as_given.push_back(names);
      in_order.push_back(order_of({.settings = {},
                                   .name = names.front(),
                                   .job = {"job"},
                                   .also = {names.begin() + 1, names.end()},
                                   .words = {}}));
    }
    REQUIRE(all_end(in_order, random));
    if (!all_end(as_given, random)) ++stuck_as_given;
  }
  // Without that order they would.
  CHECK(stuck_as_given > 50);
}

TEST_CASE("stages: the locks in the order of their names, the job in the last one") {
  const cli::Run run = request();
  const Stage first(run, "", kNow);
  CHECK(first.name() == "a");
  CHECK(first.is_first());
  CHECK(first.argv() == std::vector<std::string>{"/proc/self/exe", "run", "m", "--also", "z",
                                                 "--also", "a", "job"});
  const Environment environment("2 99 0", "7 a\n8 m");
  const Stage last(run, held({"a", "m"}), kNow);
  CHECK(last.name() == "z");
  CHECK(last.is_last());
  CHECK(last.argv() == run.job);
}

TEST_CASE("stages: a REDLOCK_STAGE that does not come from the redlock outside is refused") {
  const cli::Run run = request();
  for (const char* value :
       {"x", "1", "1 x", "1 9", "1 9 x", "-1 9 0", "2 9 0", "1 9 0 9", "1 9 0x"}) {
    CAPTURE(value);
    const Environment environment(value, "");
    CHECK_THROWS_AS(Stage(run, held({"a"}), kNow), Error);
  }
  for (const char* value : {"3 9 0", "4 9 0"}) {
    const Environment environment(value, "");
    CHECK_THROWS_AS(Stage(run, held({"a", "m", "z"}), kNow), Error);
  }
  const Environment environment("1 9 0", "");
  CHECK(Stage(run, held({"a"}), kNow).name() == "m");
  CHECK_THROWS_AS(Stage(run, held({"m"}), kNow), Error);
}

TEST_CASE("stages: one limit for the waits of all; only the last knows the longest runtime") {
  cli::Run run = request();
  run.settings.wait = 10s;
  run.settings.max_runtime = 5s;
  const Stage first(run, "", kNow);
  CHECK(first.settings(kNow + 4s).wait == 6s);
  CHECK_MESSAGE(first.settings(kNow + 11s).wait == 1ms, "not without end");
  CHECK_FALSE(first.settings(kNow).max_runtime.has_value());
  CHECK(has(first.variables(kJob, kToken, 7).added, "REDLOCK_STAGE=1 1010000000000 0"));
  const Environment environment("2 1010000000000 0", "");
  const Stage last(run, held({"a", "m"}), kNow + 8s);
  CHECK(last.settings(kNow + 8s).wait == 2s);
  CHECK(last.settings(kNow).max_runtime == 5s);
  run.settings.wait.reset();
  CHECK_FALSE(Stage(run, held({"a", "m"}), kNow).settings(kNow).wait == std::optional(0ns));
}

TEST_CASE("stages: the variables are those of the first named lock, the numbers those of all") {
  const std::string slot = "p0203" + std::string(35, 'b');
  const auto first = variables(0, kJob, slot);
  CHECK(has(first.added, "REDLOCK_FENCES=7 a"));
  for (const char* const ours : {"REDLOCK_STAGE", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    CHECK(has(first.dropped, ours));
  }
  for (const std::string& each : first.added) {
    CHECK_FALSE(each.starts_with("REDLOCK_TOKEN="));
    CHECK_FALSE(each.starts_with("REDLOCK_SLOT="));
  }
  const auto named = variables(1, kJob, slot);
  CHECK(has(named.added, "REDLOCK_NAME=m"));
  CHECK(has(named.added, "REDLOCK_TOKEN=" + slot));
  CHECK(has(named.added, "REDLOCK_FENCE=8"));
  CHECK(has(named.added, "REDLOCK_SLOT=2"));
  CHECK(has(named.added, "REDLOCK_FENCES=7 a\n8 m"));
  CHECK_MESSAGE(has(named.dropped, "REDLOCK_SLOT"), "that of an outer run");
  const auto last = variables(2, kJob, slot);
  CHECK(last.added == std::vector<std::string>{"REDLOCK_FENCES=7 a\n8 m\n9 z"});
  CHECK(has(last.dropped, "REDLOCK_STAGE"));
}

TEST_CASE("stages: what an earlier stage ran begins and lasts as the command does") {
  const os::Fd file = os::make_memory_file("");
  const cli::Run run = request();
  const auto stage = [&](int number, const std::vector<std::string>& before) {
    const Environment environment(
        std::to_string(number) + " 99 " + std::to_string(::dup(file.get())), "");
    return std::make_unique<Stage>(run, held(before), kNow);
  };
  const auto middle = stage(1, {"a"});
  const auto last = stage(2, {"a", "m"});
  const Stage::Job job{.began = std::chrono::system_clock::time_point(90s), .ran = 60s, .fence = 7};
  CHECK_FALSE(middle->run_of_command(job, kNow));  // the command has not begun
  last->note_start(kNow + 5s);
  const auto found = middle->run_of_command(job, kNow);
  REQUIRE(found);
  CHECK(found->began == job.began + 5s);
  CHECK(found->ran == 55s);
  CHECK(found->fence == 7);
  CHECK(last->run_of_command(job, kNow)->ran == 60s);
}

TEST_CASE("stages: the command of --on-lost gets no variables of the next stage") {
  const auto before = variables(0, kHook);
  CHECK(before.added == std::vector<std::string>{"REDLOCK_NAME=a", "REDLOCK_TOKEN=" + kToken,
                                                 "REDLOCK_FENCE=7", "REDLOCK_FENCES=7 a"});
  CHECK(has(before.dropped, "REDLOCK_SLOT"));
  CHECK(has(before.dropped, "REDLOCK_STAGE"));
  CHECK(has(before.dropped, "NOTIFY_SOCKET"));
  const auto named = variables(1, kHook);
  CHECK(has(named.added, "REDLOCK_NAME=m"));
  CHECK(named.added.size() == 4);
  CHECK(variables(2, kHook).added == variables(2, kJob).added);
  CHECK(variables(2, kHook).dropped == variables(2, kJob).dropped);
}

TEST_CASE("held: an added lock is found, other locks are kept, an older one of the same goes") {
  const driver::LockId here{.name = {}, .key = "a b:c", .servers = "0123456789abcdef"};
  const driver::LockId there{.name = {}, .key = "a b:c", .servers = "fedcba9876543210"};
  const lock::Inherited first{.token = kToken, .fence = 7};
  const lock::Inherited second{.token = std::string(40, 'b'), .fence = 8};

  std::string words = add_held("", here, first);
  CHECK(words == kToken + ":7:0123456789abcdef:6120623a63");
  CHECK_FALSE(find_held(words, there).has_value());
  words = add_held(words, there, second);
  REQUIRE(find_held(words, here).has_value());
  CHECK(find_held(words, here)->token == first.token);
  CHECK(find_held(words, here)->fence == 7);
  words = add_held(words, here, second);
  CHECK(find_held(words, here)->fence == 8);
  CHECK(words.find(first.token) == std::string::npos);
  CHECK(find_held(words, there)->fence == 8);
}

TEST_CASE("held: a malformed text is no hold") {
  const driver::LockId id{.name = {}, .key = "k", .servers = "f"};
  CHECK(find_held(kToken + ":1:f:6b", id).has_value());
  for (const std::string& word :
       {std::string(), std::string("  "), kToken, kToken + ":f:6b", kToken + "::f:6b",
        kToken + ":x:f:6b", kToken + ":-1:f:6b", std::string(40, 'g') + ":1:f:6b",
        std::string(39, 'a') + ":1:f:6b", kToken + ":1:g:6b", kToken + ":1:f:6b6b",
        kToken + ":99999999999999999999999:f:6b"}) {
    CAPTURE(word);
    CHECK_FALSE(find_held(word, id).has_value());
  }
}

TEST_CASE(
    "held: what an outer run holds it may still hold, unless a quorum shows that it does not") {
  const std::string reader = "s" + std::string(39, 'a');
  Shown shared = held_as("shared:" + reader);
  shared.readers = {{reader, "{}"}};
  struct Row {
    Shown shown;
    std::string held;
    bool may;
    std::size_t silent = 0;  ///< of three servers
  };
  for (const Row& row :
       {Row{held_as(kToken), kToken, true},
        {held_as("revoked:" + kToken + " {}"), kToken, true},
        {held_as(std::string(40, 'b')), kToken, false},
        {held_as("cooling:" + kToken), kToken, false},
        {held_as("of another program"), kToken, false},
        {held_as(kToken, 20'000, R"({"host":"h","maintenance":1})"), kToken, false},
        {shared, reader, true},
        {shared, "s" + std::string(39, 'b'), false},
        {{.type = "list", .left = -1}, kToken, false},
        {{}, kToken, false},
        {{}, kToken, false, 1},
        {{}, kToken, true, 2}}) {
    CAPTURE(row.shown.value);
    CAPTURE(row.silent);
    tests::AnsweringServers servers(3, [&](const Asked& asked) -> std::optional<std::string> {
      if (asked.server < row.silent) return std::nullopt;
      return asked.name == "look" ? row.shown.wire() : tests::usual_reply(asked.name);
    });
    CHECK(may_still_hold({.token = row.held, .fence = 1}, "L", servers.settings()) == row.may);
  }
}

}  // namespace
}  // namespace redlock::run
