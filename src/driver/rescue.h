// SPDX-License-Identifier: MIT
//
// Gives the lock back after the system has refused something (memory, a descriptor, a process)
// while a server may hold a lock of ours. The session is of no use then: the exception interrupted
// one of its steps. But every connection knows which requests it has sent, and redlock takes those
// back.
//
// This is rarely needed: redlock takes everything that the start of a job needs before the first
// request (run/runner.h, hold/acquirer.h).
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
  /// Reserves some memory for later.
  Rescue();

  /// Asks every server to delete whatever it may hold for us, and waits for the answers; makes
  /// three attempts of at most `patience` each. True: no server holds anything for us. Never
  /// throws. Our job must be dead, or not started.
  bool give_back(Driver& driver, lock::Duration patience) noexcept;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

/// Warns that give_back() may have left the lock on a server. Never throws.
void say_may_stay_locked(const std::string& name, lock::Duration ttl, os::Stderr& out) noexcept;

/// The text of an exception, for people.
const char* reason_of(const std::exception& error) noexcept;

}  // namespace redlock::driver
