// SPDX-License-Identifier: MIT
#include "diag/lock_name.h"

#include <doctest/doctest.h>

#include <string>

namespace redlock::diag {
namespace {

TEST_CASE("a sentence names a lock in quotes, cleaned, and a valid name is never cut") {
  CHECK(lock_name("deploy shop") == "lock \"deploy shop\"");
  CHECK(lock_name("caf\xc3\xa9\x1b[2J\n") == "lock \"café?[2J?\"");
  const std::string longest(255, 'x');
  CHECK(lock_name(longest) == "lock \"" + longest + '"');
  CHECK(lock_name(longest + "yy") == "lock \"" + longest + "...\"");
}

}  // namespace
}  // namespace redlock::diag
