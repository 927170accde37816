// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "lock/time.h"
#include "os/fd.h"

namespace redlock::os {

/// A passive object waits for this. fd -1: for nothing.
struct Interest {
  int fd = -1;
  bool read = false;
  bool write = false;
  bool ready = false;  ///< set by Loop::wait: readable, writable, hung up or in error
};

/// The only place where the program blocks. A forked child makes a loop of its own: otherwise both
/// processes would set the same timer.
///
/// The caller hands over all interests every turn: with a handful of descriptors that is cheaper
/// than an epoll set that must follow reconnecting sockets.
class Loop {
 public:
  Loop();

  /// Blocks until an interest is ready or `deadline` has come; sets their `ready`. A timerfd on
  /// CLOCK_BOOTTIME keeps the deadline: poll(2)'s own time-out would not count a suspend, and after
  /// one the job would run on while we still slept. Throws Error (71).
  void wait(std::span<Interest> interests, lock::Instant deadline);

 private:
  Fd timer_;
  lock::Instant armed_ = lock::kNever;
};

}  // namespace redlock::os
