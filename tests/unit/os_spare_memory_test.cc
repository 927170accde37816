// SPDX-License-Identifier: MIT
#include "os/spare_memory.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace redlock::os {
namespace {

TEST_CASE("spare memory: pieces, until the block is used up") {
  CHECK_FALSE(spare_memory_is_in_use());

  void* const one = take_spare_memory(24);
  void* const other = take_spare_memory(0);
  REQUIRE(one != nullptr);
  REQUIRE(other != nullptr);
  CHECK(one != other);
  CHECK(reinterpret_cast<std::uintptr_t>(one) % alignof(std::max_align_t) == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(other) % alignof(std::max_align_t) == 0);
  CHECK(is_spare_memory(one));
  CHECK_FALSE(is_spare_memory(&one));
  CHECK_FALSE(is_spare_memory(nullptr));
  CHECK(size_of_spare_memory(one) == 24);
  std::memset(one, 'x', 24);
  CHECK(size_of_spare_memory(other) == 0);

  CHECK(take_spare_memory(SIZE_MAX) == nullptr);
  constexpr std::size_t kSize = 1000;
  std::vector<void*> all;
  for (void* piece = nullptr; (piece = take_spare_memory(kSize)) != nullptr;) all.push_back(piece);
  CHECK(all.size() > 900);
  CHECK(all.size() < 1100);

  // Whoever gives back the last piece gets it again.
  return_spare_memory(all.back());
  CHECK(take_spare_memory(kSize) == all.back());

  // The order does not matter once all is given back.
  return_spare_memory(one);
  for (void* const piece : all) return_spare_memory(piece);
  return_spare_memory(other);
  CHECK(take_spare_memory(24) == one);
  return_spare_memory(one);
}

}  // namespace
}  // namespace redlock::os
