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
#include "redis/servers/server_set.h"

namespace redlock::hold {

/// A lock and its token, from the command line, and what the servers know about its acquisition.
struct Possession {
  driver::LockId lock;
  std::string token;
  std::string record;       ///< of the holder, JSON; empty: not known, or no server has the token
  std::uint64_t fence = 0;  ///< 0: not known
  std::string revoked;      ///< describes the revocation of the lock; empty: nobody revokes it
  bool held = false;        ///< a quorum had the token when look_up() asked
};

/// Looks for the token on all servers. Throws Error (71, 78).
Possession look_up(const config::Settings& settings, const std::string& lock_name,
                   std::string token);

/// The ttl that the process used which acquired the lock, if that is known.
std::optional<std::chrono::milliseconds> recorded_ttl(const Possession& possession);

/// The loop of `redlock renew` and `redlock release`.
class TokenCommand : private driver::Host {
 public:
  /// `op`: renew or leave. `settings` must outlive this.
  TokenCommand(const config::Settings& settings, const Possession& possession, lock::Op op);

  /// Returns when the outcome is certain. Reports it unless the command succeeded.
  Exit run();

  /// After a successful renewal: the time for which the lock is certain to last.
  [[nodiscard]] lock::Duration valid_for() const;

 private:
  void note_release();
  void note_renewal();
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
  int interrupted_ = 0;  ///< this signal ended the command; 0: none
};

/// Returns `token` or, if that is empty, the line on standard input. Throws Error (64).
std::string read_token(const std::string& token);

}  // namespace redlock::hold
