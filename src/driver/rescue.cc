// SPDX-License-Identifier: MIT
#include "driver/rescue.h"

#include <fmt/format.h>

#include <ctime>
#include <exception>
#include <new>

#include "diag/duration.h"
#include "diag/lock_name.h"
#include "os/clock.h"
#include "os/last_words.h"
#include "os/spare_memory.h"

namespace redlock::driver {

namespace {

// More than an attempt needs, and enough for malloc(3) to return it to the system: the limit may be
// on the address space of this process (RLIMIT_AS). Nobody writes to it before.
constexpr std::size_t kMemory = std::size_t{512} * 1024;
constexpr int kTries = 3;
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20'000'000};

}  // namespace

Rescue::Rescue() : memory_(std::make_unique_for_overwrite<std::byte[]>(kMemory)) {}

bool Rescue::give_back(Driver& driver, lock::Duration patience) noexcept {
  redis::ServerSet& servers = driver.servers();
  memory_.reset();
  os::use_spare_memory();
  for (int tries = 0; tries < kTries && servers.owes(); ++tries) {
    try {
      servers.give_back_all(os::boot_now());
      driver.finish_requests([&servers] { return !servers.owes(); }, driver.now() + patience);
    } catch (const std::exception&) {
      // The connection that failed is closed, and the next attempt opens a new one.
      ::nanosleep(&kPause, nullptr);
    }
  }
  return !servers.owes();
}

void say_may_stay_locked(const std::string& name, lock::Duration ttl, os::Stderr& out) noexcept {
  try {
    out.line(
        fmt::format("redlock: warning: {} could not be given back, it may stay locked for up to {}",
                    diag::lock_name(name), diag::for_people(ttl)));
  } catch (const std::exception&) {
    os::last_words("redlock: warning: out of memory, the lock may stay locked until it expires\n");
  }
}

const char* reason_of(const std::exception& error) noexcept {
  return dynamic_cast<const std::bad_alloc*>(&error) == nullptr ? error.what() : "out of memory";
}

}  // namespace redlock::driver
