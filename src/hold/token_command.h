// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "config/settings.h"
#include "diag/reporter.h"
#include "driver/driver.h"
#include "driver/lock_id.h"
#include "exit_status.h"
#include "lock/by_token.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "redis/server_set.h"

namespace redlock::hold {

/// A lock and its token, as a command line has them, and what servers know of who took it.
struct Possession {
  driver::LockId lock;
  std::string token;
  std::string record;       ///< JSON; empty: not known, or the token is not there
  std::uint64_t fence = 0;  ///< 0: not known
  std::string revoked;      ///< from whom and by whom it is being taken; empty: it is not
  bool held = false;        ///< a quorum had it when it was looked for
};

/// Looks for it on all servers. Throws Error (71, 78).
Possession look_up(const config::Settings& settings, const std::string& lock_name,
                   std::string token);

/// For how long whoever took it wanted to have it at a time, if that is known.
std::optional<std::chrono::milliseconds> recorded_ttl(const Possession& possession);

/// The loop of `redlock renew` and `redlock release`.
class TokenCommand : private driver::Host {
 public:
  /// `op`: renew or leave. `settings` must outlive this.
  TokenCommand(const config::Settings& settings, const Possession& possession, lock::Op op);

  /// Until it is settled, and said unless it is done.
  Exit run();

  /// Of a renewal that is done: how much longer the lock is sure to last.
  [[nodiscard]] lock::Duration valid_for() const;

 private:
  void note_release();
  bool perform(const lock::Effect&, lock::Instant) override { return false; }
  bool take_signal(const lock::Signal& signal, lock::Instant now) override;
  ExitStatus tell();
  [[nodiscard]] std::string who_has_it() const;

  const config::Settings& settings_;
  Possession possession_;
  lock::Op op_;
  os::SignalSource signals_;
  os::Stderr out_;
  diag::Reporter reporter_;
  redis::ServerSet servers_;
  lock::ByToken by_token_;
  driver::Driver driver_;
  int interrupted_ = 0;  ///< by this signal
};

/// The token itself, or the line that standard input has if it is empty. Throws Error (64).
std::string read_token(const std::string& token);

}  // namespace redlock::hold
