// SPDX-License-Identifier: MIT
#include "diag/server_list.h"

#include "doctest.h"

#include "lock/timing.h"

namespace redlock::diag {
namespace {

/// Servers named db0, db1, …, by the letters of `which`, in that order.
ServerList list_of(const std::string& which) {
  std::vector<ServerList::Server> servers;
  for (const char letter : which) {
    servers.push_back({std::string(6, letter), std::string("db") + letter});
  }
  return ServerList(servers);
}

/// Whether each quorum of one list has a server of each quorum of the other, by trying all of them.
bool share_always(unsigned a, unsigned b) {
  const auto size = [](unsigned set) { return static_cast<std::size_t>(__builtin_popcount(set)); };
  for (unsigned of_a = a; of_a > 0; of_a = (of_a - 1) & a) {
    if (size(of_a) != lock::quorum(size(a))) continue;
    for (unsigned of_b = b; of_b > 0; of_b = (of_b - 1) & b) {
      if (size(of_b) == lock::quorum(size(b)) && (of_a & of_b) == 0) return false;
    }
  }
  return true;
}

TEST_CASE("server list: every two lists of up to six servers share a server, or need not") {
  const auto letters = [](unsigned set) {
    std::string which;
    for (unsigned at = 0; at < 6; ++at) {
      if ((set >> at & 1U) != 0) which += "0123ab"[at];
    }
    return which;
  };
  for (unsigned a = 1; a < 64; ++a) {
    for (unsigned b = 1; b < 64; ++b) {
      const Relation relation = list_of(letters(a)).relation(list_of(letters(b)).record());
      const Relation expected = a == b               ? Relation::same
                                : share_always(a, b) ? Relation::overlapping
                                                     : Relation::apart;
      CHECK_MESSAGE(relation == expected, letters(a) << " and " << letters(b));
    }
  }
}

TEST_CASE("server list: the order does not matter") {
  CHECK(list_of("b0a").record() == "000000aaaaaabbbbbb");
  CHECK(list_of("b0a").relation(list_of("ab0").record()) == Relation::same);
}

TEST_CASE("server list: what differs, and whom we know") {
  const ServerList ours = list_of("ba0");
  CHECK(ours.difference(list_of("0ac").record()) == "without dbb, with cccccc");
  CHECK(ours.difference(ours.record()).empty());
  CHECK(ours.names(list_of("0c").record()) == "db0, cccccc");
}

TEST_CASE("server list: what is no list is unknown, and shows nothing") {
  const ServerList ours = list_of("ab");
  const std::string fingerprint = "0123456789abcdef";  // of redlock 1.0
  for (const std::string& text :
       {std::string(), fingerprint, std::string("AAAAAA"), std::string("aaaaa\033"),
        std::string("bbbbbbaaaaaa"), std::string(606, 'a')}) {
    CHECK(ours.relation(text) == Relation::unknown);
    CHECK(ours.names(text).empty());
  }
  CHECK(ours.relation(std::string(600, 'a')) == Relation::apart);
  CHECK(ServerList().relation("aaaaaa") == Relation::unknown);
}

TEST_CASE("server list: a server that stands twice in a list has two places in it") {
  CHECK(list_of("0").relation("000000000000") == Relation::overlapping);
  CHECK(list_of("00").relation("000000000000") == Relation::same);
}

}  // namespace
}  // namespace redlock::diag
