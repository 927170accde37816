// SPDX-License-Identifier: MIT
//
// What a token says of its lock.
#include "lock/value.h"

#include "doctest.h"

#include <string>

using namespace redlock::lock;

TEST_CASE("tokens: 40 digits, the first of which may say the mode") {
  CHECK(is_token(std::string(40, 'a')));
  CHECK(is_token("s" + std::string(39, '0')));
  CHECK(is_token("p0103" + std::string(35, 'f')));
  for (const std::string& text : {std::string(), std::string(39, 'a'), std::string(41, 'a'),
                                  std::string(39, 'a') + "g", "q" + std::string(39, 'a')}) {
    CAPTURE(text);
    CHECK_FALSE(is_token(text));
  }
}

TEST_CASE("tokens: whether others may hold the lock at the same time") {
  CHECK_FALSE(is_of_reader("aaaa"));
  CHECK(is_of_reader("saaa"));
  CHECK(is_of_reader("p0103"));
  CHECK(is_of_slot("p0103"));
  CHECK_FALSE(is_of_slot("saaa"));
}

TEST_CASE("tokens: a slot's number, and how many there are") {
  for (const std::size_t slots : {2U, 9U, 10U, 15U, 16U, 17U, 64U}) {
    for (std::size_t slot = 1; slot <= slots; ++slot) {
      const std::string token = slot_head(slot, slots) + std::string(35, 'a');
      CAPTURE(token);
      CHECK(is_token(token));
      CHECK(slot_of(token).slot == slot);
      CHECK(slot_of(token).slots == slots);
    }
  }
  CHECK(slot_head(16, 64) == "p1040");
  CHECK_MESSAGE(slot_of("shared:p0203aaaa").slots == 3, "the value of a lock with slots");
  CHECK(slot_of("saaaa").slots == 0);
  CHECK(slot_of("p01").slots == 0);
  CHECK(slot_of("p0x03").slots == 0);
}
