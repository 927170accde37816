// SPDX-License-Identifier: MIT
//
// renew and release by token, as whole commands, against each combination of what three servers do.
#include <algorithm>
#include <array>
#include <mutex>

#include "answering_servers.h"
#include "contains.h"
#include "forked.h"
#include "hold/hold.h"
#include "lock/protocol.h"
#include "lock/value.h"

namespace redlock::hold {
namespace {

using tests::Asked;

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
  bool others = false;  ///< who reads the lock when the token is gone
  bool quiet = true;
  std::string out{}, err{};  ///< what the command wrote
  std::array<int, kServers> looks{};
  std::vector<Asked> asked{};
  std::mutex mutex{};

  [[nodiscard]] std::size_t how_many(std::initializer_list<Server> kinds) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        servers, [&](Server each) { return std::ranges::count(kinds, each) > 0; }));
  }
  std::vector<Asked> take(std::string_view name) {
    const std::lock_guard lock(mutex);
    std::vector<Asked> taken;
    std::ranges::copy_if(asked, std::back_inserter(taken),
                         [&](const Asked& each) { return each.name == name; });
    return taken;
  }

  std::optional<std::string> reply(const Asked& request) {
    const std::lock_guard lock(mutex);
    asked.push_back(request);
    const Server server = servers.at(request.server);
    const std::string who = R"({"host":"h","user":"u","pid":1,)" + record + R"(,"protocol":)" +
                            std::to_string(lock::kProtocol) + "}";
    if (request.name == "look") {
      const bool later = looks.at(request.server)++ > 0;
      if (later && server == Server::gone && !others) return tests::Shown{}.wire();
      tests::Shown shown{.type = "string",
                         .value = token,
                         .left = left.at(request.server),
                         .holder = who,
                         .fence = 3};
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
int status_of(Scene& scene, std::chrono::milliseconds patience) {
  tests::AnsweringServers servers(
      kServers, [&](const Asked& asked) { return scene.reply(asked); }, false);
  const os::Fd out = os::make_memory_file("");
  const os::Fd err = os::make_memory_file("");
  const pid_t child = tests::start_forked([&] {
    Request request;
    request.name = "L";
    request.settings = servers.settings();
    request.settings.quiet = scene.quiet;
    request.json = true;  // only of renew
    request.settings.server_wait = patience;
    request.settings.log_entries = 10;
    request.token = scene.token;
    int result = 0;
    const auto written = tests::written_by([&] { result = carry_out(request).status; });
    os::write_all(out.get(), written.out);
    os::write_all(err.get(), written.err);
    return result;
  });
  servers.start();
  const int status = tests::status_of(child);
  for (const auto& [file, text] : {std::pair{&out, &scene.out}, {&err, &scene.err}}) {
    text->clear();
    ::lseek(file->get(), 0, SEEK_SET);
    os::read_all(file->get(), *text);
  }
  return WEXITSTATUS(status);
}

TEST_CASE("release, renew: 0 only if a quorum did it, 80 only if no quorum can have the lock") {
  for (const std::string& token : {kToken, kReader}) {
    for (std::size_t a = 0; a < 4; ++a) {
      for (std::size_t b = a; b < 4; ++b) {
        for (std::size_t c = b; c < 4; ++c) {
          const std::array<Server, kServers> each{static_cast<Server>(b), static_cast<Server>(c),
                                                  static_cast<Server>(a)};
          CAPTURE(token);
          CAPTURE(a);
          CAPTURE(b);
          CAPTURE(c);
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
            CHECK(tests::contains(line.words.at(3),
                                  token == kReader ? "\"fence\":7" : "\"fence\":3"));
            CHECK(tests::contains(line.words.at(3), R"("host":"h")"));
          }
          scene.looks = {};
          CHECK(status_of<cli::Renew>(scene, patience) == (did ? 0 : over ? 80 : 69));
          CAPTURE(scene.out);
          CHECK(tests::contains(scene.out,
                                did     ? "\"error\": null"
                                : !over ? "\"error\": \"too few servers answered\""
                                : scene.how_many({changed}) >= kQuorum ? "\"error\": \"held by "
                                : scene.how_many({gone}) >= kQuorum
                                    ? "\"error\": \"it was released, or has expired\""
                                    : "\"error\": \"no quorum of the servers holds it\""));
          // For the ttl of the run that took it.
          for (const Asked& renewal : scene.take("renew")) CHECK(renewal.words.back() == "30000");
        }
      }
    }
  }
}

TEST_CASE("release: a lock that a run inside still holds is not released: 1") {
  using enum Server;
  for (const std::size_t keeping : {0U, 1U, 2U, 3U}) {
    CAPTURE(keeping);
    Scene scene;
    scene.servers = {holds, holds, holds};
    std::fill_n(scene.servers.begin(), keeping, keeps);
    CHECK(status_of<cli::Release>(scene, std::chrono::seconds(20)) == (keeping >= kQuorum ? 1 : 0));
    CHECK(tests::contains(scene.err, "is still held: a run inside") == (keeping >= kQuorum));
    CHECK(status_of<cli::Renew>(scene, std::chrono::seconds(20)) == 0);
  }
}

TEST_CASE("release: a server that may keep the lock is named, with the longest time, unless -q") {
  using enum Server;
  for (const bool quiet : {false, true}) {
    Scene scene;
    scene.servers = {holds, holds, refuses};
    scene.left = {7 * 3'600'000, 6 * 3'600'000, 5 * 3'600'000};
    scene.quiet = quiet;
    CHECK(status_of<cli::Release>(scene, std::chrono::seconds(20)) == 0);
    CAPTURE(scene.err);
    CHECK(scene.err.empty() == quiet);
    if (!quiet) CHECK(tests::contains(scene.err, "may keep lock \"L\" for another 7h 0m"));
  }
}

TEST_CASE("renew: who read a lock that others read on hears that") {
  Scene scene;
  scene.servers.fill(Server::gone);
  scene.token = kReader;
  scene.others = true;
  CHECK(status_of<cli::Renew>(scene, std::chrono::seconds(20)) == 80);
  CHECK_MESSAGE(tests::contains(scene.out, "or has expired; others still hold it"), scene.out);
}

TEST_CASE("release, renew: a revocation that reached too few servers leaves the lock ours") {
  using enum Server;
  for (const std::size_t revoking : {0U, 1U, 2U, 3U}) {
    CAPTURE(revoking);
    Scene scene;
    scene.servers = {holds, holds, holds};
    std::fill_n(scene.servers.begin(), revoking, revoked);
    const int expected = revoking >= kQuorum ? 80 : 0;
    CHECK(status_of<cli::Release>(scene, std::chrono::seconds(20)) == expected);
    scene.looks = {};
    CHECK(status_of<cli::Renew>(scene, std::chrono::seconds(20)) == expected);
  }
}

TEST_CASE("renew: for the ttl of the run or of the hold that has the lock, if it can be one") {
  for (const auto& each : {std::pair{R"("ttl":1000)", "1000"},
                           {R"("ttl":999)", "3600000"},
                           {R"("ttl":-5)", "3600000"},
                           {R"("ttl":86400000)", "86400000"},
                           {R"("ttl":86400001)", "3600000"},
                           {R"("maintenance":1,"ttl":2592000000)", "2592000000"},
                           {R"("maintenance":1,"ttl":2592000001)", "3600000"}}) {
    CAPTURE(each.first);
    const auto& [record, ttl] = each;
    Scene scene;
    scene.record = record;
    CHECK(status_of<cli::Renew>(scene, std::chrono::seconds(20)) == 0);
    for (const Asked& renewal : scene.take("renew")) CHECK(renewal.words.back() == ttl);
  }
}

}  // namespace
}  // namespace redlock::hold
