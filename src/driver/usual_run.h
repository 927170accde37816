// SPDX-License-Identifier: MIT
//
// How long the runs of a lock usually take, for the live line of a wait. Nothing depends on it: it
// has a connection of its own, and whatever goes wrong only leaves the line without these words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "config/settings.h"
#include "diag/usual.h"
#include "lock/time.h"
#include "redis/inspection/log_reader.h"
#include "redis/servers/server_set.h"

namespace redlock::driver {

/// Reads the end of the lock's log from the first server that answers. The loop does not poll its
/// connection: it looks when its deadline has passed.
class UsualRun {
 public:
  /// `settings` and `servers` must outlive this. `key`: of the lock.
  UsualRun(const config::Settings& settings, const redis::ServerSet& servers, std::string key);

  /// Begins to read; has an effect once.
  void begin(lock::Instant now) noexcept;

  /// When turn() is due; kNever if it does not read.
  [[nodiscard]] lock::Instant deadline() const { return next_; }

  /// True: usual() has just become known.
  bool turn(lock::Instant now) noexcept;

  /// Closes the connection.
  void stop() noexcept;

  /// None: not known, or not yet.
  [[nodiscard]] const std::optional<diag::Usual>& usual() const { return usual_; }

 private:
  void ask(lock::Instant now);
  void look(lock::Instant now);

  const config::Settings& settings_;
  const redis::ServerSet& servers_;
  std::string key_;
  bool begun_ = false;
  std::size_t server_ = 0;
  std::optional<redis::LogReader> reader_;
  lock::Instant next_ = lock::kNever;
  lock::Instant limit_ = lock::kNever;
  std::optional<diag::Usual> usual_;
};

}  // namespace redlock::driver
