// SPDX-License-Identifier: MIT
#include "os/random.h"

#include <sys/random.h>

#include <cerrno>

#include "os/fd.h"

namespace redlock::os {
namespace {

void fill(unsigned char* out, std::size_t size) {
  while (size > 0) {
    const ssize_t got = getrandom(out, size, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      fail("cannot get random bytes");
    }
    out += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string raw(bytes, '\0');
  fill(reinterpret_cast<unsigned char*>(raw.data()), raw.size());
  std::string hex;
  hex.reserve(2 * bytes);
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  fill(reinterpret_cast<unsigned char*>(&seed), sizeof seed);
  return seed;
}

}  // namespace redlock::os
