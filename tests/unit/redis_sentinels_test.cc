// SPDX-License-Identifier: MIT
//
// Which primary follows from what Sentinels say, which this test plays; and what is said if none
// follows.

#include <algorithm>

#include "contains.h"
#include "played_server.h"
#include "redis/connection/locator.h"

namespace redlock::sentinels_test {

using namespace std::chrono_literals;
using tests::contains;

namespace {

const lock::Instant kBegun = lock::Instant{} + 100s;

const std::string kUnknown = "-ERR No such master with that name\r\n";
const std::string kHangsUp;

/// A primary on this port, by the configuration of that epoch.
std::string names(const std::string& port, const std::string& epoch,
                  const std::string& flags = "master") {
  return tests::array_of({"ip", "10.0.0.1", "port", port, "flags", flags, "config-epoch", epoch});
}

struct Sentinels {
  explicit Sentinels(std::size_t count) {
    endpoint.kind = redis::Endpoint::Kind::sentinel;
    endpoint.service = "svc";
    while (played.size() < count) {
      played.emplace_back(new tests::PlayedServer(tests::PlayedServer::on_loopback()));
      endpoint.nodes.push_back(played.back()->endpoint().address);
    }
    locator.emplace(endpoint, nullptr, redis::Timeouts{});
  }
  /// All of them answer after all were asked, in their order.
  void answer(const std::vector<std::string>& replies) {
    std::vector<bool> asked(played.size());
    std::vector<os::Interest> interests;
    for (int turns = 0; turns < 4000; ++turns, interests.clear()) {
      locator->turn(now);
      locator->interests(interests);
      if (interests.empty()) return;  // there is a result
      for (std::size_t at = 0; at < played.size(); ++at) {
        if (played[at]->is_called()) played[at]->accept();
        if (contains(played[at]->read(), "svc")) asked[at] = true;
      }
      ::poll(nullptr, 0, 1);
      if (std::ranges::count(asked, false) > 0) continue;
      for (std::size_t at = 0; at < played.size(); ++at) {
        replies[at].empty() ? played[at]->hang_up() : played[at]->write(replies[at]);
      }
      asked[0] = false;
    }
  }
  /// The port of the primary, or why there is none.
  std::string found(const std::vector<std::string>& replies) {
    locator->start(now, now + 1s);
    answer(replies);
    if (locator->place() != nullptr) return std::to_string(locator->place()->address.port);
    REQUIRE(locator->failure());
    CHECK_FALSE(locator->failure()->maybe_applied);
    return locator->failure()->why;
  }

  lock::Instant now = kBegun;
  std::vector<std::unique_ptr<tests::PlayedServer>> played{};
  redis::Endpoint endpoint{};
  std::optional<redis::Locator> locator{};
};

}  // namespace

TEST_CASE("sentinels: the primary of the newest configuration, or the trouble that says most") {
  struct Row {
    std::vector<std::string> replies;
    std::string found;
    bool permanent = false;
  };
  const std::string leads = "master,failover_in_progress";
  const std::string old = "-ERR unknown command 'SENTINEL'\r\n";
  const std::string locked = "-NOAUTH Authentication required.\r\n";
  const std::string none = "none of its 3 Sentinels names the primary; Sentinel 127.0.0.1:";
  const std::vector<Row> rows = {
      {{names("1", "4"), names("2", "5"), kHangsUp}, "2"},
      {{names("2", "5"), names("1", "4"), kHangsUp}, "2"},
      {{names("1", "5", leads), names("2", "4"), kHangsUp}, "2"},
      {{kHangsUp, kHangsUp, names("1", "4")}, "1"},
      {{kUnknown, kUnknown, kUnknown}, "monitors no primary of the name svc", true},
      {{old, old, old}, "is not a Sentinel", true},
      {{locked, locked, locked}, "append ?sentinel_password=PASSWORD", true},
      {{names("0", "4"), names("65536", "4"), old}, "does not speak the Redis protocol", true},
      {{kHangsUp, kUnknown, kHangsUp}, "monitors no primary"},
      {{kUnknown, old, kHangsUp}, "monitors no primary"},
      {{"-LOADING\r\n", kHangsUp, kHangsUp}, "still loading"},
  };
  for (const Row& row : rows) {
    Sentinels three(3);
    const std::string found = three.found(row.replies);
    CAPTURE(found);
    if (three.locator->place() != nullptr) {
      CHECK(found == row.found);
      continue;
    }
    CHECK(contains(found, row.found));
    CHECK(found.starts_with(none));
    CHECK(three.locator->failure()->permanent == row.permanent);
  }
  CHECK(Sentinels(1).found({kUnknown}).starts_with("Sentinel 127.0.0.1:"));
}

TEST_CASE("sentinels: nothing of an earlier question counts in the next one") {
  Sentinels three(3);
  CHECK(three.found({names("1", "4"), names("1", "4"), names("1", "4")}) == "1");
  CHECK(contains(three.found({kUnknown, kHangsUp, kHangsUp}), "none of its 3"));
  CHECK(contains(three.found({kUnknown, kUnknown, kHangsUp}), "none of its 3"));
  CHECK_FALSE(three.locator->failure()->permanent);
  CHECK(three.found({names("1", "4"), names("1", "4"), kHangsUp}) == "1");
  CHECK_FALSE(three.locator->failure());
}

TEST_CASE("sentinels: a place in use is superseded by a newer configuration, or if all say so") {
  struct Row {
    std::vector<std::string> replies;
    bool superseded;
  };
  const std::vector<Row> rows = {
      {{names("2", "5"), names("2", "5"), kHangsUp}, true},
      {{names("1", "5"), names("1", "5"), kHangsUp}, false},
      {{names("2", "4"), names("2", "4"), kHangsUp}, false},
      {{names("2", "3"), names("2", "3"), kHangsUp}, false},
      {{names("2", "3"), names("2", "3"), names("2", "3")}, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.replies[0]);
    Sentinels three(3);
    REQUIRE(three.found({names("1", "4"), names("1", "4"), kHangsUp}) == "1");
    three.locator->arrive();
    three.now += 1s;
    three.locator->ask_again(three.now);
    three.answer(row.replies);
    CHECK(three.locator->superseded() == row.superseded);
    CHECK(three.found({names("2", "9"), names("2", "9"), kHangsUp}) == "2");
    CHECK_FALSE(three.locator->superseded());
  }
}

}  // namespace redlock::sentinels_test
