// SPDX-License-Identifier: MIT
#include "os/clock.h"

#include <unistd.h>

#include <algorithm>

#include "error.h"
#include "os/fd.h"

namespace redlock::os {

namespace {

void fill(void* out, std::size_t size) {
  if (::getentropy(out, size) != 0) fail("cannot get random bytes");
}

}  // namespace

lock::Instant boot_now() {
  timespec now{};
  if (::clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
    throw Error(ExitStatus::os_error, "this kernel has no CLOCK_BOOTTIME");
  }
  return lock::Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

std::chrono::milliseconds unix_now() {
  return std::chrono::floor<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

itimerspec alarm_at(lock::Instant instant) {
  using namespace std::chrono;
  itimerspec spec{};
  if (instant == lock::kNever) return spec;  // zeros disarm the timer
  const auto since_boot = std::max(instant.time_since_epoch(), lock::Duration(1));
  const auto whole = duration_cast<seconds>(since_boot);
  spec.it_value.tv_sec = whole.count();
  spec.it_value.tv_nsec = static_cast<long>((since_boot - whole).count());
  return spec;
}

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
