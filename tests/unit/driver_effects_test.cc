// SPDX-License-Identifier: MIT
//
// A whole driver, with a machine that asks each server once and then has the effects of the test:
// what the servers hear of them.
#include "answering_servers.h"
#include "contains.h"
#include "driver/driver.h"
#include "forked.h"
#include "os/clock.h"

namespace redlock::driver {
namespace {

using namespace std::chrono_literals;
using lock::Log;
using lock::Outcome;
using tests::Asked;
using tests::contains;

const std::string kTheirs(40, 'a');

class Scripted final : public lock::Machine {
 public:
  Scripted(std::size_t servers, lock::Effects effects)
      : servers_(servers), effects_(std::move(effects)) {}

  lock::Effects step(const lock::Event& event, lock::Instant) override {
    if (std::holds_alternative<lock::Reply>(event) && ++replies_ == servers_) {
      return std::exchange(effects_, {});
    }
    lock::Effects asks;
    for (; asked_ < servers_; ++asked_) {
      asks.emplace_back(
          lock::Ask{.server = asked_, .attempt = 1, .operation = lock::op::Acquire{}});
    }
    return asks;
  }
  [[nodiscard]] lock::Instant deadline() const override { return lock::kNever; }
  [[nodiscard]] bool finished() const override { return replies_ >= servers_; }

 private:
  std::size_t servers_;
  lock::Effects effects_;
  std::size_t asked_ = 0;
  std::size_t replies_ = 0;
};

/// What servers hear after the question, as "SERVER SCRIPT ARGUMENT ARGUMENT…".
std::vector<std::string> heard(const lock::Effects& effects, const records::Holder* who,
                               bool only_waits = false, std::size_t servers = 1) {
  std::vector<std::string> heard;
  tests::AnsweringServers answering(servers, [&](const Asked& asked) {
    std::string line = std::to_string(asked.server) + " " + asked.name;
    for (const std::string& word : asked.words) line += " " + word;
    if (asked.name == "revoke" || asked.name == "log" || asked.name == "refuse") {
      heard.push_back(std::move(line));
    }
    return tests::usual_reply(asked.name);
  });
  {
    struct : Host {
      void heard(const lock::Reply&) override { ++replies; }
      std::size_t replies = 0;
    } host;
    redis::ServerSet set(answering.settings().servers,
                         {.lock_key = "L", .log_entries = 9, .ttl = 30s},
                         [] { return std::string("{}"); }, {.request = 20s, .connect = 20s}, {});
    os::SignalSource signals;
    Scripted machine(servers, effects);
    Driver driver(machine, host, set, signals, {.who = who, .only_waits = only_waits});
    driver.run();
    for (std::size_t server = 0; server < servers; ++server) {  // the last that each server hears
      set.ask({.server = server, .attempt = 2, .operation = lock::op::Acquire{}}, os::boot_now());
    }
    driver.finish_requests([&] { return host.replies >= 2 * servers; }, os::boot_now() + 20s);
    // The other tests of this program need them as they were.
    ::sigprocmask(SIG_SETMASK, &signals.entry_mask(), nullptr);
    ::setrlimit(RLIMIT_CORE, &signals.entry_core_limit());
  }
  answering.stop();
  return heard;
}

const records::Holder kUs{.host = "h1", .user = "root", .pid = 7, .command = "b", .build = 5};
const records::Holder kOther{.host = "h2", .user = "ops", .command = "./a", .message = "m"};

lock::Refused held_by(const records::Holder& who) {
  return {.blocker = kTheirs, .ttl_left = 20s, .holder = records::to_json(who)};
}

TEST_CASE("driver: --replace revokes no hold and no newer build, whichever server knows of it") {
  struct Row {
    std::uint64_t build;
    bool maintenance;
    bool revoked;
  };
  const Row rows[] = {
      {4, false, true}, {5, false, true}, {6, false, false}, {0, false, true}, {0, true, false}};
  for (const Row& row : rows) {
    CAPTURE(row.build);
    for (const bool first : {true, false}) {
      records::Holder who = kOther;
      who.build = row.build;
      who.maintenance = row.maintenance;
      const lock::Replace order{
          {{0, held_by(first ? who : kOther)}, {1, held_by(first ? kOther : who)}}};
      const auto said = heard({order}, &kUs, false, 2);
      REQUIRE(said.size() == (row.revoked ? 2 : 0));
      CHECK((said.empty() || said[0].front() != said[1].front()));
      for (const std::string& each : said) {
        CHECK(contains(each, "revoked:" + kTheirs));
        CHECK(contains(each, R"("replaces":1)"));
      }
    }
  }
  CHECK(heard({lock::Replace{{{0, held_by(kOther)}}}}, nullptr).empty());
}

TEST_CASE(
    "driver: a process that only waits logs what belongs to the wait, one without a name nothing") {
  for (const auto event : {Log::Event::acquired, Log::Event::released, Log::Event::lost,
                           Log::Event::skipped, Log::Event::superseded, Log::Event::revoked}) {
    const lock::Effects effects{Log{.event = event, .attempt = 1}};
    const std::string word(records::word_for(event));
    CAPTURE(word);
    const bool of_wait = event == Log::Event::superseded || event == Log::Event::revoked;
    CHECK(heard(effects, &kUs, true).size() == (of_wait ? 1 : 0));
    CHECK(heard(effects, nullptr).empty());
    const auto lines = heard(effects, &kUs);
    REQUIRE(lines.size() == 1);
    CHECK(contains(lines[0], " " + word + " "));
    CHECK(contains(lines[0], R"("command":"b")"));
  }
}

TEST_CASE("driver: a hold that a failed run leaves is logged as one that was acquired") {
  const auto lines =
      heard({Log{.event = Log::Event::released, .attempt = 1, .fence = 3, .status = 4, .hold = 1h}},
            &kUs);
  REQUIRE(lines.size() == 2);
  CHECK(contains(lines[0], " released "));
  CHECK_FALSE(contains(lines[0], "maintenance"));
  CHECK(contains(lines[1], " acquired "));
  CHECK(contains(lines[1], R"("fence":3)"));
  CHECK(contains(lines[1], R"("maintenance":1,"message":"exit 4 of b by root@h1")"));
}

TEST_CASE("driver: who gives up tells the servers who had the lock, and only then") {
  using lock::report::Contended;
  const auto said = [](Contended::When when, std::optional<lock::Refused> refusal) {
    return heard({lock::Report{Contended{std::move(refusal), when, 0s}}}, &kUs);
  };
  const lock::Refused theirs = held_by(kOther);
  CHECK(said(Contended::When::begins, theirs).empty());
  CHECK(said(Contended::When::changes, theirs).empty());
  const auto lines = said(Contended::When::gives_up, theirs);
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], R"x({"command":"b","held_by":"ops@h2 (./a (m))","user":"root"})x"));
  const auto split = said(Contended::When::gives_up, std::nullopt);
  REQUIRE(split.size() == 1);
  CHECK(contains(split[0], R"("held_by":"")"));
}

TEST_CASE("driver: how redlock ends, by what became of the session") {
  using Kind = Outcome::Kind;
  const auto status = [](Kind kind) {
    return exit_of({.kind = kind, .number = 9}, {.conflict = 21, .done = 22}).status;
  };
  CHECK(status(Kind::job_ended) == 9);
  CHECK(status(Kind::not_started) == 9);
  CHECK(status(Kind::superseded) == 21);
  CHECK(status(Kind::conflict) == 21);
  CHECK(status(Kind::done) == 22);
  CHECK(status(Kind::unavailable) == 69);
  CHECK(status(Kind::misconfigured) == 78);
  CHECK(status(Kind::lost) == 80);
  CHECK(status(Kind::max_runtime) == 124);
}

TEST_CASE("driver: a lock that cannot be released stays for its ttl or its minimum hold") {
  for (const lock::Duration min_hold : {0h, 2h}) {
    tests::AnsweringServers servers(
        1, [](const Asked&) { return std::nullopt; }, false);
    lock::Plan plan{};
    plan.servers = 1;
    plan.timing.ttl = 30s;
    plan.timing.min_hold = min_hold;
    const std::string said =
        tests::written_by([&] {
          tests::forked([&] {
            servers.start();
            struct : Host {
              bool take_signal(const lock::Signal&, lock::Instant) override { return true; }
            } host;
            redis::ServerSet set(servers.settings().servers, {.lock_key = "L", .ttl = 30s},
                                 [] { return std::string("{}"); }, {.request = 20s, .connect = 20s},
                                 {});
            os::SignalSource signals;
            lock::Session session(plan, os::boot_now());
            Driver driver(session, host, set, signals, {});
            set.ask({.server = 0, .attempt = 1, .operation = lock::op::Acquire{}}, os::boot_now());
            os::Stderr out;
            give_back(driver, plan, "L", out);
            servers.stop();
            return 0;
          });
        }).err;
    CAPTURE(said);
    CHECK(tests::contains(said, min_hold > 0h ? "stay locked for up to 2h 0m" : "up to 30 s"));
  }
}

}  // namespace
}  // namespace redlock::driver
