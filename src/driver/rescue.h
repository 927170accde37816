// SPDX-License-Identifier: MIT
//
// What is done when the machine fails under us (no memory, no descriptor, no process) while a
// server may hold a lock of ours. The session is of no use then: what was thrown came through the
// middle of a step. But every connection knows what was sent over it, and that is taken back.
//
// To need this is the exception: what the start of a job takes is taken before the first request
// (run/runner.h, hold/acquirer.h).
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>

#include "driver/driver.h"
#include "lock/time.h"
#include "os/stderr.h"

namespace redlock::driver {

class Rescue {
 public:
  /// Keeps some memory for later.
  Rescue();

  /// Asks every server to take back whatever it may hold of us, and waits for the answers; each of
  /// three tries for at most `patience`. True: nothing is left anywhere. Never throws. Our job must
  /// be dead, or not begun.
  bool give_back(Driver& driver, lock::Duration patience) noexcept;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

/// Says that give_back() could not be sure. Never throws.
void say_may_stay_locked(const std::string& lock_name, lock::Duration ttl,
                         os::Stderr& out) noexcept;

/// What an exception says, for people.
const char* reason_of(const std::exception& error) noexcept;

}  // namespace redlock::driver
