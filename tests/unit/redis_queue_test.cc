// SPDX-License-Identifier: MIT
#include "redis/queue.h"

#include <doctest/doctest.h>

#include <string>

namespace redlock::redis {
namespace {

std::optional<QueuePlace> joined(const std::string& wire) {
  ReplyParser parser;
  parser.feed(wire);
  const auto value = parser.next();
  REQUIRE(value.has_value());
  return read_joined(*value);
}

TEST_CASE("queue: the place that a server tells to who joins") {
  const auto place = joined("*3\r\n$6\r\njoined\r\n:2\r\n:3\r\n");
  REQUIRE(place.has_value());
  CHECK(place->place == 2);
  CHECK(place->length == 3);
  CHECK(joined("*3\r\n$6\r\njoined\r\n:32\r\n:32\r\n").has_value());
}

TEST_CASE("queue: no place where the server tells none, or tells nonsense") {
  for (const char* wire :
       {"*1\r\n$6\r\njoined\r\n", "*3\r\n$6\r\njoined\r\n:0\r\n:32\r\n",
        "*3\r\n$6\r\njoined\r\n:4\r\n:3\r\n", "*3\r\n$6\r\njoined\r\n:1\r\n:33\r\n",
        "*3\r\n$6\r\njoined\r\n:-1\r\n:3\r\n", "*3\r\n$6\r\njoined\r\n$1\r\n1\r\n$1\r\n1\r\n",
        "*3\r\n:1\r\n:1\r\n:1\r\n", "*2\r\n$4\r\nfree\r\n:1\r\n", "-NOPERM no\r\n", "+OK\r\n",
        "$-1\r\n", "*0\r\n"}) {
    CAPTURE(wire);
    CHECK_FALSE(joined(wire).has_value());
  }
}

}  // namespace
}  // namespace redlock::redis
