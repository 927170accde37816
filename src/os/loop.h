// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "lock/time.h"
#include "os/fd.h"

namespace redlock::os {

/// What a passive object waits for. fd -1: nothing.
struct Interest {
  int fd = -1;
  bool read = false;
  bool write = false;
  bool ready = false;  ///< set by Loop::wait: readable, writable, hung up or in error
};

/// The only place the program blocks. A forked child makes one of its own: the timer of this one
/// would be shared, and set by both.
///
/// Interests are handed over anew every turn: with a handful of descriptors that is cheaper than
/// keeping an epoll set in step with reconnecting sockets.
class Loop {
 public:
  Loop();

  /// Blocks until an interest is ready or `deadline` has come; sets their `ready`. The deadline is
  /// kept by a timerfd on CLOCK_BOOTTIME: poll(2)'s own time-out would not count a suspend, and
  /// after one the job would run on while we still slept. Throws Error (71).
  void wait(std::span<Interest> interests, lock::Instant deadline);

 private:
  Fd timer_;
  lock::Instant armed_ = lock::kNever;
};

}  // namespace redlock::os
