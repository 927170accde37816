// SPDX-License-Identifier: MIT
//
// How much of a server's answers a look believes.
#include "observe/observer.h"

#include "answering_servers.h"
#include "forked.h"
#include "os/clock.h"
#include "os/loop.h"

namespace redlock::observer_test {
namespace {

using tests::array_of;
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
    const std::string text = "$" + std::to_string(size) + "\r\n" + std::string(size, 'x') + "\r\n";
    if (!scans) return text;
    return "*2\r\n$" + std::to_string(cursor.size()) + "\r\n" + cursor + "\r\n*1\r\n" + text;
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

}  // namespace
}  // namespace redlock::observer_test
