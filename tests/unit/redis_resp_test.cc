// SPDX-License-Identifier: MIT
#include "doctest.h"

#include "commands.h"
#include "redis/wire/resp.h"

using redlock::redis::ReplyParser;
using redlock::redis::Value;
using redlock::tests::bytes_of;

namespace {

bool breaks(const std::string& wire, redlock::redis::ReplyLimits limits = {}) {
  ReplyParser parser(limits);
  parser.feed(wire);
  while (parser.next()) {
  }
  return parser.broken();
}

}  // namespace

TEST_CASE("resp: commands are binary safe") {
  CHECK(bytes_of({"GET", ""}) == "*2\r\n$3\r\nGET\r\n$0\r\n\r\n");
  CHECK(bytes_of({std::string_view("a\0\r\n", 4)}) == std::string("*1\r\n$4\r\na\0\r\n\r\n", 14));
}

TEST_CASE("resp: replies arrive in pieces of any size") {
  const std::string wire = "*3\r\n$1\r\na\r\n:-5\r\n*-1\r\n-ERR no\r\n+OK\r\n$-1\r\n";
  ReplyParser parser;
  std::vector<Value> values;
  for (const char byte : wire) {
    parser.feed({&byte, 1});
    while (auto value = parser.next()) values.push_back(*value);
  }
  REQUIRE(values.size() == 4);
  REQUIRE(values[0].elements.size() == 3);
  CHECK(values[0].elements[0].text == "a");
  CHECK(values[0].elements[1].integer == -5);
  CHECK(values[0].elements[2].type == Value::Type::nil);
  CHECK(values[1].type == Value::Type::error);
  CHECK(values[1].text == "ERR no");
  CHECK(values[2].type == Value::Type::status);
  CHECK(values[3].type == Value::Type::nil);
  CHECK_FALSE(parser.broken());
}

TEST_CASE("resp: invalid RESP breaks the parser immediately") {
  CHECK(breaks("HTTP/1.1 400 Bad Request\r\n\r\n"));
  CHECK(breaks(std::string("\x16\x03\x01\0", 4)));
  CHECK(breaks("$x\r\n"));
}

TEST_CASE("resp: a hostile server's announcements cost no memory") {
  CHECK(breaks("*1025\r\n"));
  CHECK(breaks("*2147483647\r\n"));
  CHECK(breaks("*1\r\n*1000000\r\n"));
  CHECK_FALSE(breaks("*1024\r\n"));
  CHECK_FALSE(breaks("$2000000000\r\nabc"));  // announced, not allocated
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += "*1\r\n";
  CHECK(breaks(nested));
}

TEST_CASE("resp: all arrays of a reply together have a limit, and each reply its own") {
  std::string array = "*1024\r\n";
  for (int i = 0; i < 1024; ++i) array += ":1\r\n";
  const auto nested = [&array](int times) {
    std::string reply = "*" + std::to_string(times) + "\r\n";
    for (int i = 0; i < times; ++i) reply += array;
    return reply;
  };
  CHECK_FALSE(breaks(nested(7)));
  CHECK(breaks(nested(8)));
  CHECK_FALSE(breaks(nested(7) + nested(7) + array + array));
}

TEST_CASE("resp: a parser for one large reply has the limits that it is given") {
  std::string array = "*2000\r\n";
  for (int i = 0; i < 2000; ++i) array += ":1\r\n";
  CHECK_FALSE(breaks(array, {.of_array = 2000}));
  CHECK(breaks(array, {.of_array = 1999}));
  CHECK(breaks(array, {.of_array = 2000, .of_reply = 1999}));
  const std::string half = "$3000000\r\n" + std::string(1500000, 'x');
  CHECK_FALSE(breaks(half, {.bytes = 2'000'000}));
  CHECK(breaks(half, {.bytes = 1'000'000}));
  // What was read does not count for what follows.
  ReplyParser parser({.bytes = 20});
  for (int reply = 0; reply < 10; ++reply) {
    parser.feed("$9\r\n123456789\r\n+");
    CHECK(parser.next());
    CHECK_FALSE(parser.next());
    CHECK_FALSE(parser.broken());
    parser.feed("\r\n");
    CHECK(parser.next());
  }
}

TEST_CASE("resp: one reply may not be larger than 1 MiB, however it is built") {
  const std::string chunk(16 * 1024, 'x');
  const auto endless = [](const std::string& start, const std::string& more) {
    ReplyParser parser;
    parser.feed(start);
    for (int i = 0; i < 200 && !parser.broken(); ++i) {
      parser.feed(more);
      while (parser.next()) {
      }
    }
    return parser.broken();
  };
  CHECK(endless("$2000000000\r\n", chunk));
  CHECK(endless("+", chunk));
  std::string arrays;
  for (int i = 0; i < 1024; ++i) arrays += "$2\r\nab\r\n";
  CHECK(endless("*1024\r\n", "*1024\r\n" + arrays));
  CHECK_FALSE(endless("", "$16384\r\n" + chunk + "\r\n"));  // many replies, each of them small
}
