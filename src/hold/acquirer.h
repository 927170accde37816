// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "config/settings.h"
#include "diag/reporter.h"
#include "driver/driver.h"
#include "driver/progress.h"
#include "driver/setup.h"
#include "exit_status.h"
#include "hold/keeper.h"
#include "lock/session.h"
#include "os/fd.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "records/holder.h"
#include "redis/servers/server_set.h"

namespace redlock::hold {

struct Grant {
  std::string lock_name;
  bool json;
  lock::Duration linger;     ///< time for late servers to answer, once the lock is held
  std::optional<Ward> ward;  ///< none: there is no keeper to renew the lock
  records::Holder who;       ///< for the lock's log
  /// The end of a maintenance hold, Unix time; none: it lasts for its ttl.
  std::optional<std::chrono::milliseconds> until{};
};

/// The heart of `redlock acquire` and `redlock hold`: the same session as that of a run. Where a
/// run would start its job, redlock ends, or hands the session to a keeper.
///
/// If the system refuses something before the token is printed, redlock gives the lock back
/// (driver/driver.h); during the handover the session gives it back.
class Acquirer : private driver::Host {
 public:
  Acquirer(const lock::Plan& plan, const Grant& grant, redis::ServerSet& servers, os::Stderr& out,
           diag::Reporter& reporter, driver::Progress::Mode progress, driver::ChosenStatus chosen);

  /// Returns when the token is printed, or when the attempt has failed. Gives the way in which
  /// redlock ends.
  Exit run();

  /// If redlock got the lock: when it ends unless somebody renews it, in Unix time.
  [[nodiscard]] std::optional<std::chrono::milliseconds> held_until() const {
    return held_ ? std::optional(expiry()) : std::nullopt;
  }

 private:
  bool perform(const lock::Effect& effect, lock::Instant now) override;
  void stepped() override {
    if (!session_.acquiring()) progress_.hide();
  }
  [[nodiscard]] os::Interest watch() const override {
    if (!grant_.ward || ward_gone_) return {};
    return {.fd = grant_.ward->process.fd(), .read = true};
  }
  [[nodiscard]] lock::Instant deadline() const override { return progress_.deadline(session_); }
  void look(bool woken, lock::Instant now) override;
  void heard(const lock::Reply& reply) override {
    if (held_) reporter_.say_vote(reply);
  }
  void turned(lock::Instant now) override { progress_.turn(session_, now); }

  void linger();
  void spread();
  void give_back() noexcept;

  std::optional<lock::Event> hand_over(const lock::Spawn& order);
  std::optional<lock::Event> start_keeper(const lock::Spawn& order);
  [[noreturn]] void be_keeper() noexcept;
  void end_keeper(int signal);
  [[nodiscard]] std::chrono::milliseconds expiry() const;
  [[nodiscard]] std::string describe_grant(const lock::Spawn& order) const;
  lock::Event print_token(const lock::Spawn& order);

  const Grant& grant_;
  driver::ChosenStatus chosen_;
  os::SignalSource signals_;  // first: from here on no signal ends us while we hold a lock
  redis::ServerSet& servers_;
  os::Stderr& out_;
  diag::Reporter& reporter_;
  lock::Instant began_;
  lock::Session session_;
  driver::Progress progress_;
  driver::Driver driver_;
  lock::Duration patience_;  ///< with servers that must delete the lock again
  lock::Duration life_;      ///< of the lock
  /// Redlock takes it before it asks for the lock: if the system refuses it, there is no lock yet
  /// to give back.
  std::optional<KeeperReserve> reserve_;
  pid_t keeper_ = -1;
  lock::Log won_{};    ///< the line for the lock's log
  bool held_ = false;  ///< the token is printed
  bool ward_gone_ = false;
  int interrupted_ = 0;  ///< this signal came after the grant and before the token was printed
};

/// What `redlock acquire` and `redlock hold` do alike: opens the servers for the lock, and runs an
/// Acquirer.
struct Taken {
  Exit exit;
  std::optional<std::chrono::milliseconds> held_until;  ///< as Acquirer::held_until
};
Taken take(const config::Settings& settings, const driver::LockId& lock, const lock::Plan& plan,
           const Grant& grant, os::Stderr& out);

}  // namespace redlock::hold
