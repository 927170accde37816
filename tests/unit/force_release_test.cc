// SPDX-License-Identifier: MIT
//
// release --force, as a whole, against each combination of what three servers do: the tables ask
// for what must hold, whatever the servers do.
#include "force/force_release.h"

#include <algorithm>
#include <array>

#include "answering_servers.h"
#include "contains.h"
#include "forked.h"
#include "lock/value.h"

namespace redlock::force {
namespace {

using tests::Asked;
using tests::contains;

constexpr std::size_t kServers = 3;
constexpr std::size_t kQuorum = 2;
const std::string kToken(40, 'a');
const std::string kOther(40, 'b');

/// What a server shows at first, and what becomes of the requests that follow.
enum class Server {
  holds,    ///< shows the lock, and does what it is asked to
  loses,    ///< the same, but each first request of a kind gets lost
  fails,    ///< shows the lock, and then its connections break
  changed,  ///< shows the lock, and then has another one
  gone,     ///< shows the lock, and then nothing
  free,     ///< shows nothing
  dies,     ///< shows nothing, and then its connections break
  silent,   ///< says nothing
};
constexpr int kKinds = 8;

/// What a server says that does what it is asked to. `readers`: whom a revocation has reached.
std::string done(const Asked& asked, const std::string& readers = "") {
  if (asked.name == "revoke") {
    return "*4\r\n" + tests::bulk_of("revoked") + ":1\r\n" + tests::bulk_of(readers) + ":1\r\n";
  }
  return asked.name == "remove" ? tests::array_of({"released"}) : tests::usual_reply(asked.name);
}

/// The lock's key on three servers.
struct Scene {
  std::array<Server, kServers> servers{};
  std::string value = kToken;  ///< what those show that have the lock
  bool hold = false;           ///< a maintenance hold
  std::vector<Asked> writes{};
  std::size_t lines = 0;  ///< for the log

  [[nodiscard]] std::size_t how_many(std::initializer_list<Server> kinds) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        servers, [&](Server each) { return std::ranges::count(kinds, each) > 0; }));
  }
  /// Nobody has told the holder: its job goes on beside the next one, until its next renewal.
  [[nodiscard]] bool removes_unrevoked() const {
    return std::ranges::any_of(writes, [&](const Asked& each) {
      const Server server = servers.at(each.server);
      return each.name == "remove" && server != Server::free && server != Server::dies &&
             std::ranges::none_of(writes, [&](const Asked& earlier) {
               return earlier.server == each.server && earlier.name == "revoke";
             });
    });
  }
  [[nodiscard]] std::size_t times(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::count(writes, name, &Asked::name));
  }
  /// A lock without a quorum is left over if its key lives for longer than half a minute.
  [[nodiscard]] std::int64_t left() const {
    using enum Server;
    return how_many({holds, loses, fails, changed, gone}) >= kQuorum ? 40'000 : 20'000;
  }
  [[nodiscard]] std::string holder() const {
    return R"({"host":"h","user":"u","pid":1,"protocol":)" + std::to_string(lock::kProtocol) +
           (hold ? R"(,"maintenance":1})" : R"(,"ttl":30000})");
  }

  std::optional<std::string> reply(const Asked& asked) {
    const Server server = servers.at(asked.server);
    if (server == Server::silent) return std::nullopt;
    const bool shows = server != Server::free && server != Server::dies;
    if (asked.name == "look") {
      if (!shows) return tests::Shown{}.wire();
      return tests::held_as(value, left(), holder()).wire();
    }
    lines += asked.name == "log" ? 1 : 0;
    if (asked.name != "revoke" && asked.name != "remove") return tests::usual_reply(asked.name);
    const bool first = std::ranges::none_of(writes, [&](const Asked& each) {
      return each.server == asked.server && each.name == asked.name;
    });
    writes.push_back(asked);
    if (server == Server::loses && first) return std::nullopt;
    switch (server) {
      case Server::fails:
      case Server::dies:
        return std::nullopt;
      case Server::changed:
        return tests::array_of({"not_mine", kOther});
      case Server::holds:
      case Server::loses:
        return done(asked);
      default:
        return tests::array_of({"missing"});
    }
  }
};

struct Forced {
  ExitStatus status{};
  std::string said;
};

Forced force(const config::Settings& settings, bool now, bool wait = false) {
  cli::ForceRelease request;
  request.name = "L";
  request.settings = settings;
  request.yes = true;
  request.now = now;
  request.wait_gone = wait;
  Forced forced;
  forced.said = tests::written_by([&] { forced.status = carry_out(request); }).err;
  return forced;
}

/// Servers that only answer this command.
Forced force(tests::AnsweringServers& servers, bool now, bool wait = false) {
  servers.start();
  Forced forced = force(servers.settings(), now, wait);
  servers.stop();
  return forced;
}

TEST_CASE("force: the status is 0 only if the holder has no quorum left; and then it always is") {
  Scene scene;
  tests::AnsweringServers servers(
      kServers, [&](const Asked& asked) { return scene.reply(asked); }, false);
  const config::Settings settings = servers.settings();
  for (const auto& each : tests::trios<Server>(kKinds)) {
    for (const bool now : {false, true}) {
      for (const bool hold : {false, true}) {
        scene = {.servers = each, .hold = hold};
        CAPTURE(tests::described(each));
        CAPTURE(now);
        CAPTURE(hold);
        const Forced forced = force(servers, now);
        CAPTURE(forced.said);
        CHECK_FALSE(scene.removes_unrevoked());
        CHECK(scene.lines == 0);  // --log-entries 0
        using enum Server;
        const std::size_t shown = scene.how_many({holds, loses, fails, changed, gone});
        if (shown < kQuorum) {
          // Free, or nobody knows; two answers that differ are no quorum.
          if (!now) CHECK(scene.writes.empty());
          const bool known_free = scene.how_many({free, dies}) >= kQuorum && shown == 0;
          if (known_free) CHECK(forced.status == ExitStatus::ok);
          if (scene.how_many({silent}) >= kQuorum) {
            CHECK(forced.status == ExitStatus::unavailable);
            CHECK(scene.writes.empty());
            for (std::size_t at = 0; at < kServers; ++at) {
              const std::string told = settings.servers[at].brief() + " could not be asked";
              CHECK(contains(forced.said, told) == (each.at(at) == silent));
            }
          }
          continue;
        }
        const bool removes = now || hold;
        // A server without the lock that is told not to take it back counts, too.
        const std::size_t good =
            scene.how_many({holds, loses, gone}) + (removes ? scene.how_many({free}) : 0);
        const std::size_t revoked = scene.how_many({holds, loses, gone});
        // If one has changed hands and one is gone, the lock may be another's already.
        const bool sure =
            scene.how_many({holds, loses}) >= kQuorum || scene.how_many({changed}) == 0;
        const bool enough = revoked >= kQuorum && good >= kQuorum && sure;
        if (enough) CHECK(forced.status == ExitStatus::ok);
        if (forced.status == ExitStatus::ok) {
          CHECK(good >= kQuorum);
          CHECK(revoked >= kQuorum);
        } else if (scene.how_many({changed}) > 0) {
          CHECK(
              (forced.status == ExitStatus::conflict || forced.status == ExitStatus::unavailable));
        } else {
          CHECK(forced.status == ExitStatus::unavailable);
        }
        if (!removes) CHECK(scene.times("remove") == 0);
        // Without a quorum of revocations, the holder could put back what is deleted.
        if (scene.times("remove") > 0) CHECK(revoked >= kQuorum);
        if (forced.status == ExitStatus::ok && removes && scene.how_many({holds, loses}) > 0) {
          // A server may keep the key for longer than half a minute: it is named.
          for (std::size_t at = 0; at < kServers; ++at) {
            const bool unsure =
                each.at(at) == silent || each.at(at) == fails || each.at(at) == dies;
            CHECK(unsure == contains(forced.said, settings.servers[at].brief() + " may keep"));
          }
        }
      }
    }
  }
}

TEST_CASE("force: a lock that is revoked already is revoked again, and deleted with --now only") {
  Scene scene;
  tests::AnsweringServers servers(
      kServers, [&](const Asked& asked) { return scene.reply(asked); }, false);
  config::Settings logs = servers.settings();
  logs.log_entries = 9;
  for (const bool now : {false, true}) {
    for (const bool before : {false, true}) {
      using enum Server;
      scene = {.servers = {holds, changed, holds}, .value = (before ? "revoked:" : "") + kToken};
      servers.start();
      CHECK(force(logs, now).status == ExitStatus::ok);
      servers.stop();
      CHECK(scene.times("revoke") == kServers);
      CHECK(scene.times("remove") == (now ? kServers : 0));
      // A server that did not revoke it has nothing to log; nor have others, if it was before.
      CHECK(scene.lines == (before ? 0U : 2U));
    }
  }
  // The minimum hold of a job that is over is cut short.
  scene = {.servers = {}, .value = "cooling:" + kToken};
  const Forced cut = force(servers, false);
  CHECK(cut.status == ExitStatus::ok);
  CHECK(contains(cut.said, "lock \"L\" is free: its minimum hold was cut short"));
  CHECK(scene.times("revoke") == 0);
  CHECK(scene.times("remove") == kServers);
}

TEST_CASE(
    "force: a key that was left over is deleted only if it is still the same two seconds later") {
  enum class Then { same, same_until_deleted, another, nothing, silent, held, held_by_another };
  struct Case {
    Then then;
    std::array<int, kServers> looks{};
    int removes = 0;
    std::unique_ptr<tests::AnsweringServers> servers{};
    pid_t pid = -1;
  };
  std::array<Case, 7> cases{Case{Then::same},           Case{Then::same_until_deleted},
                            Case{Then::another},        Case{Then::nothing},
                            Case{Then::silent},         Case{Then::held},
                            Case{Then::held_by_another}};
  for (Case& each : cases) {
    const auto reply = [&each](const Asked& asked) -> std::optional<std::string> {
      if (asked.name == "remove") ++each.removes;
      if (asked.name == "remove" && each.then == Then::same_until_deleted)
        return tests::array_of({"not_mine", kOther});
      if (asked.name == "remove") return tests::array_of({"released"});
      if (asked.name != "look") return tests::usual_reply(asked.name);
      const bool later = each.looks.at(asked.server)++ > 0;
      if (later && asked.server == 0 && each.then == Then::silent) return std::nullopt;
      const bool shows = asked.server == 0 ? !later || each.then != Then::nothing
                                           : later && each.then >= Then::held;
      if (!shows) return tests::Shown{}.wire();
      const Then changes = asked.server == 0 ? Then::another : Then::held_by_another;
      const bool other = later && each.then == changes;
      return tests::held_as(other ? kOther : kToken).wire();
    };
    each.servers = std::make_unique<tests::AnsweringServers>(kServers, reply, false);
    each.pid = tests::start_forked(
        [&each] { return static_cast<int>(force(each.servers->settings(), false).status); });
  }
  for (Case& each : cases) each.servers->start();
  for (Case& each : cases) {
    CAPTURE(static_cast<int>(each.then));
    CHECK(WEXITSTATUS(tests::status_of(each.pid)) ==
          (each.then == Then::same || each.then == Then::nothing ? 0 : 1));
    each.servers->stop();
    CHECK(each.removes == (each.then <= Then::same_until_deleted ? 1 : 0));
  }
}

TEST_CASE("force: a key of another program on one server stays without --now") {
  tests::AnsweringServers servers(kServers, [](const Asked& asked) -> std::optional<std::string> {
    if (asked.name != "look") return std::nullopt;  // a deletion would fail
    if (asked.server > 0) return tests::Shown{}.wire();
    return tests::held_as("theirs", 40'000, "").wire();
  });
  const Forced forced = force(servers.settings(), false);
  CHECK(forced.status == ExitStatus::conflict);
  CHECK(contains(forced.said, "one server has a key of another program"));
}

TEST_CASE("force: a hold with a run inside ends when that run has ended, and with --now before") {
  std::array<int, kServers> looks{};
  const auto reply = [&](const Asked& asked) -> std::optional<std::string> {
    if (asked.name != "look") return done(asked);
    tests::Shown shown = tests::held_as(kToken, 40'000, R"({"maintenance":1})");
    shown.holds = ++looks.at(asked.server) < 3 ? 2 : 1;
    return shown.wire();
  };
  tests::AnsweringServers servers(kServers, reply, false);
  for (const bool now : {false, true}) {
    looks = {};
    const Forced forced = force(servers, now);
    CHECK(forced.status == ExitStatus::ok);
    CHECK(contains(forced.said, "and stops its job first") == !now);
    CHECK(looks == std::array<int, kServers>{now ? 1 : 3, now ? 1 : 3, now ? 1 : 3});
  }
}

/// What a server shows to --wait, after a look at the lock before the revocation and one after it.
enum class Later { holder, another, nothing, silent };

TEST_CASE("force --wait: until a quorum no longer shows the holder, on one look after the other") {
  std::array<Later, kServers> later{};
  std::array<int, kServers> looks{};
  std::string first;
  const auto reply = [&](const Asked& asked) -> std::optional<std::string> {
    if (asked.name != "look") return done(asked);
    const int look = looks.at(asked.server)++;
    if (look < 2) return tests::held_as(first).wire();
    const Later shows = look == 2 ? later.at(asked.server) : Later::nothing;
    if (shows == Later::silent) return std::nullopt;
    if (shows == Later::nothing) return tests::Shown{}.wire();
    return tests::held_as(shows == Later::another ? kOther : "revoked:" + kToken).wire();
  };
  tests::AnsweringServers servers(kServers, reply, false);
  bool before = false;  // it was revoked before
  for (const auto& each : tests::trios<Later>(4)) {
    before = !before;
    CAPTURE(tests::described(each));
    CAPTURE(before);
    later = each;
    looks = {};
    first = (before ? "revoked:" : "") + kToken;
    const Forced forced = force(servers, false, true);
    CAPTURE(forced.said);
    CHECK(forced.status == ExitStatus::ok);
    const auto without = std::ranges::count_if(
        later, [](Later one) { return one == Later::another || one == Later::nothing; });
    const int most = std::ranges::max(looks);
    CHECK(most == (without >= static_cast<int>(kQuorum) ? 3 : 4));
  }
}

TEST_CASE(
    "force: the hold of a run that failed after the first look ends as the last look shows it") {
  std::array<int, kServers> looks{};
  int lines = 0;
  const auto reply = [&](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "look" && looks.at(asked.server)++ == 0) {
      return tests::held_as(kToken, 20'000).wire();
    }
    if (asked.name == "look") {
      return tests::held_as("revoked:" + kToken + " {}", 3'600'000, R"({"maintenance":1})").wire();
    }
    if (asked.name == "remove" && asked.server == 0) return std::nullopt;
    lines += asked.name == "log" ? 1 : 0;
    return done(asked);
  };
  tests::AnsweringServers servers(kServers, reply);
  config::Settings settings = servers.settings();
  settings.log_entries = 9;
  const Forced forced = force(settings, false);
  servers.stop();
  CAPTURE(forced.said);
  CHECK(forced.status == ExitStatus::ok);
  CHECK(contains(forced.said, "the hold of --hold-on-failure is over"));
  CHECK(contains(forced.said, "may keep lock \"L\" for another 1h"));
  CHECK(lines == kServers);
}

TEST_CASE("force --now: a reader that enters between the look and the revocation is buried, too") {
  const std::string generation = "s" + std::string(39, 'a');
  const std::string late = "s" + std::string(39, 'c');
  std::vector<Asked> removes;
  const auto reply = [&](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "look") {
      tests::Shown shown = tests::held_as("shared:" + generation);
      shown.readers = {{generation, "{}"}};
      return shown.wire();
    }
    if (asked.name == "remove") removes.push_back(asked);
    // One server alone names the late one.
    return done(asked, generation + (asked.server == 1 ? " " + late : ""));
  };
  tests::AnsweringServers servers(kServers, reply, false);
  CHECK(force(servers, true).status == ExitStatus::ok);
  REQUIRE(removes.size() == kServers);
  for (const Asked& each : removes) {
    CHECK(contains(each.words.back(), generation));
    CHECK(contains(each.words.back(), late));
  }
}

}  // namespace
}  // namespace redlock::force
