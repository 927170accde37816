// SPDX-License-Identifier: MIT
#include "observe/observed.h"

#include "doctest.h"

#include "os/clock.h"

namespace redlock::waiting_test {

using namespace std::chrono_literals;

namespace {

records::Holder holder(std::int64_t pid, std::chrono::milliseconds since_ago) {
  return {.host = "h", .user = "", .pid = pid, .since = os::unix_now() - since_ago};
}

redis::Waiter waiter(const std::string& id, std::int64_t pid, std::chrono::milliseconds waited) {
  return {id, waited, records::to_json(holder(pid, 0s))};
}

}  // namespace

TEST_CASE("who has just got the lock and is about to leave the queue is not shown as waiting") {
  const auto line = observe::merge_queues(
      {redis::Queue{2, {waiter("a", 7, 30s), waiter("b", 8, 20s)}}}, holder(7, 10s));
  REQUIRE(line);
  REQUIRE(line->known.size() == 1);
  CHECK(line->known[0].who->pid == 8);
}

TEST_CASE("who waits for the lock that it has itself is shown") {
  const auto line = observe::merge_queues({redis::Queue{1, {waiter("a", 7, 5s)}}}, holder(7, 10s));
  REQUIRE(line);
  CHECK(line->known.size() == 1);
}

TEST_CASE("servers that know different waiters: all are shown, and the most that are not known") {
  CHECK_FALSE(observe::merge_queues({std::nullopt, std::nullopt}, std::nullopt));
  const auto line =
      observe::merge_queues({redis::Queue{4, {waiter("a", 7, 5s)}}, std::nullopt,
                             redis::Queue{4, {waiter("b", 8, 9s), waiter("a", 7, 1s)}}},
                            std::nullopt);
  REQUIRE(line);
  CHECK(line->others == 3);
  REQUIRE(line->known.size() == 2);
  CHECK(line->known[0].who->pid == 8);
  CHECK(line->known[1].waited == 5s);
}

}  // namespace redlock::waiting_test
