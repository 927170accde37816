// SPDX-License-Identifier: MIT
#include "observe/observer.h"

#include <doctest/doctest.h>

namespace redlock::cluster_map_test {

using redlock::observe::ClusterMap;
using redlock::observe::slot_of;
using redlock::redis::Address;
using redlock::redis::Value;

namespace {

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

}  // namespace

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
  CHECK(map->primaries() == std::vector<Address>{{"10.0.0.1", 1}, {"asked", 2}});
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

}  // namespace redlock::cluster_map_test
