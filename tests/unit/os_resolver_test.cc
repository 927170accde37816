// SPDX-License-Identifier: MIT
#include "os/resolver.h"

#include <poll.h>
#include "doctest.h"

#include <set>

namespace redlock::os {
namespace {

TEST_CASE("resolver: an address is found once, by its number and by a name") {
  CHECK(numeric_address("127.0.0.1", 6379));
  CHECK(numeric_address("::1", 6379));
  CHECK_FALSE(numeric_address("localhost", 6379));
  Lookup lookup("localhost", 6379);
  pollfd done{lookup.fd(), POLLIN, 0};
  REQUIRE(::poll(&done, 1, 60'000) == 1);
  const auto found = lookup.take();
  REQUIRE((found && found->error == 0));
  std::set<std::string> different;
  for (const Address& each : found->addresses) {
    different.emplace(reinterpret_cast<const char*>(&each.storage), each.length);
  }
  CHECK(different.size() == found->addresses.size());
}

}  // namespace
}  // namespace redlock::os
