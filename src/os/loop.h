// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "lock/time.h"
#include "os/fd.h"

namespace redlock::os {

/// What a passive object waits for; nothing if fd is -1.
struct Interest {
  int fd = -1;
  bool read = false;
  bool write = false;
  bool ready = false;  ///< set by Loop::wait: readable, writable, hung up or in error
};

/// The only place where the program blocks. A forked child makes a loop of its own: otherwise both
/// processes would set the same timer.
class Loop {
 public:
  Loop();

  /// Blocks until an interest is ready or `deadline` has come; sets their `ready`. A timerfd on
  /// CLOCK_BOOTTIME keeps the deadline: poll(2) would not count a suspend. Throws Error (71).
  void wait(std::span<Interest> interests, lock::Instant deadline);

 private:
  Fd timer_;
  lock::Instant armed_ = lock::kNever;
};

}  // namespace redlock::os
