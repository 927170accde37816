// SPDX-License-Identifier: MIT
#include "os/random.h"

#include <unistd.h>

#include "os/fd.h"

namespace redlock::os {

namespace {

void fill(void* out, std::size_t size) {
  if (::getentropy(out, size) != 0) fail("cannot get random bytes");
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string raw(bytes, '\0');
  fill(raw.data(), raw.size());
  std::string hex;
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  fill(&seed, sizeof seed);
  return seed;
}

}  // namespace redlock::os
