// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "config/settings.h"
#include "driver/setup.h"
#include "exit_status.h"
#include "hold/keeper.h"
#include "lock/session.h"
#include "os/stderr.h"
#include "records/holder.h"

namespace redlock::hold {

struct Grant {
  std::string lock_name;
  bool json;
  lock::Duration linger;     ///< time for late servers to answer, once the lock is held
  std::optional<Ward> ward;  ///< no value: no keeper renews the lock
  records::Holder who;       ///< for the lock's log
  /// The end of a maintenance hold, Unix time. Without a value it lasts for its ttl.
  std::optional<std::chrono::milliseconds> until{};
};

/// How a command ended that took a lock.
struct Taken {
  Exit exit;
  /// If redlock got the lock: when it ends unless somebody renews it, in Unix time.
  std::optional<std::chrono::milliseconds> held_until;
};

/// Opens the servers, takes the lock, and prints its token: what acquire and hold do alike. Throws
/// Error (71, 78).
Taken take(const config::Settings& settings, const driver::LockId& lock, const lock::Plan& plan,
           const Grant& grant, os::Stderr& out);

}  // namespace redlock::hold
