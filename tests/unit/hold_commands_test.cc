// SPDX-License-Identifier: MIT
//
// The commands for a lock without a job, as a whole: renew and release by token against each
// combination of what three servers do, and what acquire and hold say of themselves and of others.
#include <algorithm>
#include <array>
#include <csignal>

#include "answering_servers.h"
#include "contains.h"
#include "forked.h"
#include "hold/hold.h"
#include "lock/protocol.h"
#include "lock/value.h"

namespace redlock::hold {
namespace {

using namespace std::chrono_literals;
using tests::Asked;
using tests::contains;

/// The exit status of a command that asks these servers, which start now. It runs in a process of
/// its own, as it forks: `written` gets what it writes.
template <class Request>
int status_of(tests::AnsweringServers& servers, tests::Written& written,
              const std::function<void(Request&)>& edit) {
  const os::Fd out = os::make_memory_file("");
  const os::Fd err = os::make_memory_file("");
  const pid_t child = tests::start_forked([&] {
    Request request{};
    request.name = "L";
    request.settings = servers.settings();
    request.settings.quiet = true;
    edit(request);
    int result = 0;
    const tests::Written all = tests::written_by([&] { result = carry_out(request).status; });
    os::write_all(out.get(), all.out);
    os::write_all(err.get(), all.err);
    return result;
  });
  servers.start();
  const int status = WEXITSTATUS(tests::status_of(child));
  for (const auto& [file, text] : {std::pair{&out, &written.out}, {&err, &written.err}}) {
    text->clear();
    ::lseek(file->get(), 0, SEEK_SET);
    os::read_all(file->get(), *text);
  }
  return status;
}

constexpr std::size_t kServers = 3;
constexpr std::size_t kQuorum = 2;
const std::string kToken(40, 'a');
const std::string kReader = "s" + std::string(39, 'a');
const std::string kOtherReader = "s" + std::string(39, 'b');
const std::string kRevoked = "revoked:" + kToken + R"( {"host":"h","pid":2,"user":"ops"})";

/// Each shows the lock at first.
enum class Server { holds, gone, changed, refuses, keeps, revoked };

struct Scene {
  std::array<Server, kServers> servers{};
  std::string token = kToken;
  std::string record = R"("ttl":30000)";                   ///< of the holder, besides who it is
  std::array<int, kServers> left{29'000, 29'000, 29'000};  ///< ms, of the token on each server
  bool others = false;                                ///< who reads the lock when the token is gone
  std::optional<std::chrono::milliseconds> length{};  ///< --for, of renew
  bool quiet = true;
  tests::Written written{};  ///< by the command
  std::array<int, kServers> looks{};
  std::vector<Asked> asked{};

  [[nodiscard]] std::size_t how_many(std::initializer_list<Server> kinds) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        servers, [&](Server each) { return std::ranges::count(kinds, each) > 0; }));
  }
  [[nodiscard]] std::vector<Asked> take(std::string_view name) const {
    std::vector<Asked> taken;
    std::ranges::copy_if(asked, std::back_inserter(taken),
                         [&](const Asked& each) { return each.name == name; });
    return taken;
  }

  std::optional<std::string> reply(const Asked& request) {
    asked.push_back(request);
    const Server server = servers.at(request.server);
    const std::string who = R"({"host":"h","user":"u","pid":1,)" + record + R"(,"protocol":)" +
                            std::to_string(lock::kProtocol) + "}";
    if (request.name == "look") {
      const bool later = looks.at(request.server)++ > 0;
      if (later && server == Server::gone && !others) return tests::Shown{}.wire();
      tests::Shown shown = tests::held_as(token, left.at(request.server), who);
      shown.fence = 3;
      if (later && server == Server::changed) shown.value = std::string(40, 'b');
      if (server == Server::revoked) shown.value = kRevoked;
      if (lock::is_of_reader(token) && shown.value == token) {
        shown.value = "shared:" + token;
        shown.readers = {{token, who}};  // with the fence 7
        shown.holder = R"({"host":"other"})";
        if (later && server == Server::gone) shown.readers = {{kOtherReader, who}};
      }
      return shown.wire();
    }
    if (request.name != "leave" && request.name != "renew") return tests::usual_reply(request.name);
    switch (server) {
      case Server::holds:
        return tests::array_of({request.name == "leave" ? "released" : "renewed"});
      case Server::gone:
        return tests::array_of({"missing"});
      case Server::changed:
        return tests::array_of({"not_mine", std::string(40, 'b')});
      case Server::keeps:
        return tests::array_of({request.name == "leave" ? "kept" : "renewed"});
      case Server::revoked:  // the release of its owner ends that
        if (request.name == "leave") return tests::array_of({"released"});
        return tests::array_of({"not_mine", kRevoked});
      case Server::refuses:
        break;
    }
    return "-NOPERM this user has no permissions\r\n";
  }
};

template <class Request>
int status_of(Scene& scene, std::chrono::milliseconds patience = 20s) {
  tests::AnsweringServers servers(
      kServers, [&](const Asked& asked) { return scene.reply(asked); }, false);
  scene.looks = {};
  return status_of<Request>(servers, scene.written, [&](Request& request) {
    request.settings.quiet = scene.quiet;
    request.json = true;  // only of renew
    request.settings.server_wait = patience;
    request.settings.log_entries = 10;
    request.token = scene.token;
    if constexpr (requires { request.length; }) request.length = scene.length;
  });
}

TEST_CASE("release, renew: 0 only if a quorum did it, 80 only if no quorum can have the lock") {
  for (const std::string& token : {kToken, kReader}) {
    for (const auto& each : tests::trios<Server>(4)) {
      CAPTURE(token);
      CAPTURE(tests::described(each));
      using enum Server;
      Scene scene;
      scene.servers = each;
      scene.token = token;
      const bool did = scene.how_many({holds}) >= kQuorum;
      const bool over = scene.how_many({gone, changed}) >= kQuorum;
      // If nothing is certain, it waits for something else in vain.
      const bool never = !did && !over && scene.how_many({refuses}) < kQuorum;
      const std::chrono::milliseconds patience(never ? 50 : 20'000);
      // Somebody else may have released it since the command started.
      CHECK(status_of<cli::Release>(scene, patience) == (did || over ? 0 : 69));
      // A short patience may end before the first request.
      if (!never) CHECK(scene.take("leave").size() >= kServers);
      // The line of the log says which run has ended.
      for (const Asked& line : scene.take("log")) {
        CHECK(line.words.at(1) == "released");
        CHECK(line.words.at(2) == token);
        CHECK(contains(line.words.at(3), token == kReader ? "\"fence\":7" : "\"fence\":3"));
        CHECK(contains(line.words.at(3), R"("host":"h")"));
      }
      CHECK(status_of<cli::Renew>(scene, patience) == (did ? 0 : over ? 80 : 69));
      CAPTURE(scene.written.out);
      CHECK(contains(scene.written.out, did     ? "\"error\": null"
                                        : !over ? "\"error\": \"too few servers answered\""
                                        : scene.how_many({changed}) >= kQuorum
                                            ? "\"error\": \"held by "
                                        : scene.how_many({gone}) >= kQuorum
                                            ? "\"error\": \"it was released, or has expired\""
                                            : "\"error\": \"no quorum of the servers holds it\""));
      // For the ttl of the run that took it.
      for (const Asked& renewal : scene.take("renew")) CHECK(renewal.words.back() == "30000");
    }
  }
}

TEST_CASE("release, renew: a run inside and a revocation count from a quorum of servers on") {
  struct Row {
    Server server;
    int released, renewed;  ///< the status, if a quorum does this
  };
  // A lock that a run inside still holds is not released.
  for (const Row& row : {Row{Server::keeps, 1, 0}, Row{Server::revoked, 80, 80}}) {
    for (const std::size_t count : {0U, 1U, 2U, 3U}) {
      CAPTURE(static_cast<int>(row.server));
      CAPTURE(count);
      Scene scene;
      scene.servers.fill(Server::holds);
      std::fill_n(scene.servers.begin(), count, row.server);
      const bool enough = count >= kQuorum;
      CHECK(status_of<cli::Release>(scene) == (enough ? row.released : 0));
      CHECK(contains(scene.written.err, "is still held: a run inside") ==
            (enough && row.server == Server::keeps));
      CHECK(status_of<cli::Renew>(scene) == (enough ? row.renewed : 0));
    }
  }
}

TEST_CASE("release: a server that may keep the lock is named, with the longest time, unless -q") {
  using enum Server;
  for (const bool quiet : {false, true}) {
    Scene scene;
    scene.servers = {holds, holds, refuses};
    scene.left = {7 * 3'600'000, 6 * 3'600'000, 5 * 3'600'000};
    scene.quiet = quiet;
    CHECK(status_of<cli::Release>(scene) == 0);
    CAPTURE(scene.written.err);
    CHECK(scene.written.err.empty() == quiet);
    if (!quiet) CHECK(contains(scene.written.err, "may keep lock \"L\" for another 7h 0m"));
  }
}

TEST_CASE("renew: who read a lock that others read on hears that") {
  Scene scene;
  scene.servers.fill(Server::gone);
  scene.token = kReader;
  scene.others = true;
  CHECK(status_of<cli::Renew>(scene) == 80);
  CHECK_MESSAGE(contains(scene.written.out, "or has expired; others still hold it"),
                scene.written.out);
}

TEST_CASE("renew: for the ttl of the run or of the hold, or --for; the log has that of a hold") {
  struct Row {
    std::string record;
    std::string ttl;
    std::optional<std::chrono::milliseconds> length{};
  };
  for (const Row& row : {Row{R"("ttl":1000)", "1000"},
                         {R"("ttl":999)", "3600000"},
                         {R"("ttl":-5)", "3600000"},
                         {R"("ttl":86400000)", "86400000"},
                         {R"("ttl":86400001)", "3600000"},
                         {R"("maintenance":1,"ttl":2592000000)", "2592000000"},
                         {R"("maintenance":1,"ttl":2592000001)", "3600000"},
                         {R"("maintenance":1,"ttl":60000)", "7200000", 2h}}) {
    CAPTURE(row.record);
    Scene scene;
    scene.record = row.record;
    scene.length = row.length;
    CHECK(status_of<cli::Renew>(scene) == 0);
    for (const Asked& renewal : scene.take("renew")) CHECK(renewal.words.back() == row.ttl);
    const std::vector<Asked> lines = scene.take("log");
    CHECK(lines.empty() != contains(row.record, "maintenance"));
    for (const Asked& line : lines) {
      CHECK(line.words.at(1) == "renewed");
      CHECK(contains(line.words.at(3), "\"ttl\":" + row.ttl));
    }
  }
}

TEST_CASE("acquire --json in vain: the state, the holder, and what is left of its time by then") {
  struct Case {
    std::string value, holder;
    std::string state;
    int left;  ///< ms, as the server says each time; -1: it never expires
    std::chrono::milliseconds wait = 0ms;
  };
  const std::string who = R"({"host":"h","user":"u","pid":7})";
  for (const Case& each :
       {Case{kToken, who, "held", 9'000}, Case{kToken, who, "held", 9'000, 1s},
        Case{kToken, who, "held", -1}, Case{"cooling:" + kToken, who, "cooling", 9'000},
        Case{"revoked:" + kToken, who, "revoked", 9'000}, Case{"else", "", "foreign", 9'000},
        Case{"type:hash", "", "foreign", 9'000}}) {
    CAPTURE(each.value);
    CAPTURE(each.left);
    const auto reply = [&](const Asked& asked) -> std::optional<std::string> {
      if (asked.name != "acquire") return tests::usual_reply(asked.name);
      return "*8\r\n" + tests::bulk_of("refused") + tests::bulk_of(each.value) + ":" +
             std::to_string(each.left) + "\r\n" + tests::bulk_of(each.holder) +
             tests::bulk_of("0") + tests::bulk_of("5") + ":0\r\n:0\r\n";
    };
    tests::AnsweringServers servers(1, reply, false);
    tests::Written written;
    CHECK(status_of<cli::Acquire>(servers, written, [&](cli::Acquire& request) {
            request.settings.wait = each.wait;
            request.json = true;
          }) == 1);
    const std::string& json = written.out;
    CAPTURE(json);
    CHECK(contains(json, "\"state\": \"" + each.state + '"'));
    CHECK(contains(json, each.holder.empty() ? "\"holder\": null" : "\"host\": \"h\""));
    CHECK(contains(json, "\"left_s\": null") == (each.left < 0));
    // Some time has passed since the last answer.
    if (each.wait > 0ms) CHECK_FALSE(contains(json, "\"left_s\": 9.0"));
  }
}

/// The record of the holder that the command sends with its request.
template <class Request>
std::string record_of(const std::function<void(Request&)>& edit) {
  std::string record;
  const auto reply = [&](const Asked& asked) -> std::optional<std::string> {
    for (const std::string& word : asked.words) {
      if (asked.name == "acquire" && word.starts_with("{")) record = word;
    }
    return std::nullopt;
  };
  tests::AnsweringServers servers(1, reply, false);
  tests::Written written;
  CHECK(status_of<Request>(servers, written, [&](Request& request) {
          request.settings.server_wait = 0ms;
          edit(request);
        }) == 69);
  servers.stop();
  return record;
}

TEST_CASE("acquire, hold: the record says for which process, and whether any is warned or renews") {
  const pid_t self = ::getpid();
  const std::string pid = std::to_string(self);
  const std::string of_caller = "\"pid\":" + pid;  // redlock itself does not stay
  for (const int signal : {-1, 0, SIGTERM}) {
    CAPTURE(signal);
    const std::string record = record_of<cli::Acquire>([&](cli::Acquire& request) {
      if (signal >= 0) request.keep_for = self;
      request.on_lost_signal = std::max(signal, 0);
    });
    CAPTURE(record);
    CHECK(contains(record, of_caller));
    CHECK(contains(record, "\"command\":\"redlock acquire " +
                               (signal < 0 ? "" : "--keep-for " + pid + " ") + "L\""));
    CHECK(contains(record, "\"ttl\":3600000"));
    CHECK(contains(record, "\"unattended\":1") == (signal < 0));
    CHECK(contains(record, "\"unwarned\":1") == (signal == 0));
    CHECK_FALSE(contains(record, "maintenance"));
  }
  const std::string record = record_of<cli::Hold>([](cli::Hold& request) { request.length = 2h; });
  CAPTURE(record);
  const std::string parts[] = {of_caller, R"("command":"redlock hold L")", R"("maintenance":1)",
                               R"("ttl":7200000)"};
  for (const std::string& part : parts) {
    CHECK(contains(record, part));
  }
  CHECK_FALSE(contains(record, "unattended"));
}

}  // namespace
}  // namespace redlock::hold
