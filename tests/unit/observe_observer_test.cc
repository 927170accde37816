// SPDX-License-Identifier: MIT
//
// How much of a server's answers a look believes; the map of a Cluster.
#include "observe/observer.h"

#include <atomic>

#include "answering_servers.h"
#include "forked.h"
#include "os/clock.h"
#include "os/loop.h"

namespace redlock::observer_test {
namespace {

using observe::ClusterMap;
using observe::slot_of;
using redis::Value;
using tests::Asked;

constexpr std::size_t kMost = std::size_t{64} << 20U;
constexpr std::size_t kPiece = 1'000'000;  // of one reply, which has 1 MiB at most
constexpr std::size_t kLocks = 30;         // five replies for each

/// A server that answers with this many bytes of text, and then with none.
class Talker {
 public:
  Talker() : servers_(1, [this](const Asked& asked) { return reply(asked); }) {
    for (std::size_t lock = 0; lock < kLocks; ++lock) keys_.push_back("L" + std::to_string(lock));
  }

  void scan(std::size_t bytes) {
    left_ = bytes;
    observer_.scan("holder", os::boot_now());
    finish();
  }
  void look(std::size_t bytes) {
    left_ = bytes;
    observer_.look(keys_, observe::Marks::asked, "", os::boot_now());
    finish();
  }
  [[nodiscard]] const std::optional<std::string>& cut() const { return observer_.cut(); }

  /// The locks of the latest look that have this reason for not being known.
  std::size_t unknown(const std::string& why) {
    std::size_t count = 0;
    for (std::size_t lock = 0; lock < kLocks; ++lock) {
      const lock::Seen seen = observer_.take(lock).seen;
      const auto* const none = std::get_if<lock::Unreachable>(&seen);
      if (none != nullptr && none->why == why) ++count;
    }
    return count;
  }

 private:
  static constexpr std::chrono::seconds kPatience{60};

  std::string reply(const Asked& asked) {
    const bool scans = asked.name == "SCAN";
    const std::string cursor = left_ == 0 ? "0" : std::to_string(++page_);
    if (scans && left_ > 0) left_ -= cursor.size();
    const std::size_t size = std::min(left_.load(), kPiece);
    left_ -= size;
    const std::string text(size, 'x');
    if (scans) return tests::array_of(cursor, tests::array_of(text));
    return "$" + std::to_string(size) + "\r\n" + text + "\r\n";
  }
  void finish() {
    while (!questions_.finished()) {
      std::vector<os::Interest> interests;
      questions_.interests(interests);
      loop_.wait(interests, questions_.deadline());
      questions_.turn(os::boot_now());
    }
  }

  std::atomic<std::size_t> left_ = 0;
  std::size_t page_ = 100'000;
  tests::AnsweringServers servers_;
  std::vector<std::string> keys_;
  os::Loop loop_;
  redis::Questions questions_;
  observe::Observer observer_{questions_, questions_.connect(servers_.settings().servers.front(),
                                                             nullptr, {.request = kPatience})};
};

// Each in a process of its own: what it needs of memory would slow down all later forks.

TEST_CASE("a look takes 64 MiB of a server's answers, however divided, and not a byte more") {
  for (const std::size_t more : {0U, 1U}) {
    CAPTURE(more);
    const int status = tests::forked([&] {
      Talker looks;
      looks.look(kMost + more);
      const bool unknown = looks.unknown(looks.cut().value_or("none")) > 0;
      return (looks.cut() ? 1 : 0) + (unknown ? 2 : 0);
    });
    CHECK(WEXITSTATUS(status) == (more > 0 ? 3 : 0));
  }
  CHECK(WEXITSTATUS(tests::forked([] {
          Talker scans;
          scans.scan(kMost + 1);
          return scans.cut() ? 1 : 0;
        })) == 1);
}

TEST_CASE("each look has these bytes for itself") {
  CHECK(tests::forked([] {
          Talker talker;
          talker.scan(kMost);
          talker.look(kMost - 1);
          return talker.cut() ? 1 : 0;
        }) == 0);
}

Value text(const std::string& content) {
  return {.type = Value::Type::string, .text = content};
}

Value number(std::int64_t content) {
  return {.type = Value::Type::integer, .integer = content};
}

Value array(std::vector<Value> elements) {
  return {.type = Value::Type::array, .elements = std::move(elements)};
}

Value range(std::int64_t first, std::int64_t last, const std::string& host, std::int64_t port) {
  const Value primary = array({text(host), number(port), text("id")});
  const Value replica = array({text("10.0.0.9"), number(1), text("id")});
  return array({number(first), number(last), primary, replica});
}

TEST_CASE("the slot of a key is what CLUSTER KEYSLOT says") {
  CHECK(slot_of("123456789") == 12'739);
  CHECK(slot_of("foo") == 12'182);
  CHECK(slot_of("") == 0);
  CHECK(slot_of("redlock:{foo}:holder") == slot_of("foo"));
  CHECK(slot_of("a{foo}b{bar}") == slot_of("foo"));
  CHECK(slot_of("foo{}{bar}") == 8'363);  // an empty tag is none
  CHECK(slot_of("foo{bar") != slot_of("bar"));
}

TEST_CASE("a map says which primary has a key, and that nobody has it") {
  const auto map =
      ClusterMap::read(array({range(0, 8'000, "10.0.0.1", 1), range(12'000, 12'182, "", 2),
                              range(12'183, 16'383, "10.0.0.1", 1)}),
                       "asked");
  REQUIRE(map);
  CHECK(map->primaries() == std::vector<redis::Address>{{"10.0.0.1", 1}, {"asked", 2}});
  CHECK(map->primary_of("foo") == 1);
  CHECK(map->primary_of("123456789") == 0);
  CHECK_FALSE(map->primary_of("foo{}{bar}"));
  CHECK(map->unserved() == 3'999);
  const auto odd = ClusterMap::read(array({range(-5, 9, "a", 1), range(5, 1LL << 62, "b", 2)}), "");
  REQUIRE(odd);
  CHECK(odd->unserved() == 0);
}

TEST_CASE("a map may have a range for each slot, but not as many primaries") {
  const auto ranges = [](int primaries) {
    std::vector<Value> all;
    for (int slot = 0; slot < 16'384; ++slot) {
      all.push_back(range(slot, slot, "10.0.0.1", 1 + slot % primaries));
    }
    return array(std::move(all));
  };
  const auto map = ClusterMap::read(ranges(2), "asked");
  REQUIRE(map);
  CHECK(map->primaries().size() == 2);
  CHECK(map->primary_of("foo") == 0);
  CHECK(map->primary_of("123456789") == 1);
  CHECK_FALSE(ClusterMap::read(ranges(1025), "asked"));
}

TEST_CASE("a reply of another kind is not read as a map") {
  for (const Value& wrong :
       {text("OK"), array({text("x")}), array({array({number(0), number(1)})}),
        array({range(0, 1, "10.0.0.1", 0)}), array({range(0, 1, "10.0.0.1", 65'536)}),
        array({range(0, 1, "\x1b[31m", 1)}), array({array({number(0), number(1), text("x")})})}) {
    CHECK_FALSE(ClusterMap::read(wrong, "asked"));
  }
}

}  // namespace
}  // namespace redlock::observer_test
