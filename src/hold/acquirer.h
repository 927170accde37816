// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "diag/reporter.h"
#include "driver/chosen_status.h"
#include "driver/driver.h"
#include "driver/progress.h"
#include "driver/rescue.h"
#include "exit_status.h"
#include "hold/keeper.h"
#include "lock/session.h"
#include "os/fd.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "redis/server_set.h"

namespace redlock::hold {

/// What `redlock acquire` is asked for.
struct Grant {
  std::string lock_name;
  bool json;
  lock::Duration linger;     ///< for servers that have not answered when the lock is held
  std::optional<Ward> ward;  ///< none: nobody renews the lock
  records::Holder who;       ///< for the log
};

/// The heart of `redlock acquire`: the same session as that of a run, which is left where a job
/// would be started; or handed to a keeper.
///
/// If the machine fails before the token is printed, the lock is given back (driver/rescue.h); by
/// the session, if it is while the lock is handed over.
class Acquirer : private driver::Host {
 public:
  Acquirer(const lock::Plan& plan, const Grant& grant, redis::ServerSet& servers, os::Stderr& out,
           diag::Reporter& reporter, driver::Progress::Mode progress, driver::ChosenStatus chosen);

  /// Until the token is printed, or the attempt has failed. Returns how redlock
  /// ends.
  Exit run();

 private:
  bool perform(const lock::Effect& effect, lock::Instant now) override;
  void stepped() override;
  [[nodiscard]] os::Interest watch() const override;
  [[nodiscard]] lock::Instant deadline() const override { return progress_.deadline(session_); }
  void look(bool woken, lock::Instant now) override;
  void heard(const lock::Reply& reply) override;
  void turned(lock::Instant now) override;

  void linger();
  [[nodiscard]] int print_refusal(int status) const;
  void give_back() noexcept;

  std::optional<lock::Event> hand_over(const lock::Spawn& order);
  std::optional<lock::Event> start_keeper(const lock::Spawn& order);
  [[noreturn]] void be_keeper() noexcept;
  lock::JobFailedToStart keeper_failed();
  void end_keeper(int signal);
  bool await_keeper(os::Fd& keeper, lock::Instant latest);
  [[nodiscard]] std::string describe_grant(const lock::Spawn& order) const;
  lock::Event print_token(const lock::Spawn& order);

  const Grant& grant_;
  driver::ChosenStatus chosen_;
  os::SignalSource signals_;  // first: from here on no signal ends us with a lock in our hands
  redis::ServerSet& servers_;
  os::Stderr& out_;
  diag::Reporter& reporter_;
  lock::Instant began_;
  lock::Session session_;
  driver::Progress progress_;
  driver::Driver driver_;
  lock::Duration patience_;  ///< with servers that are to take the lock back
  lock::Duration life_;      ///< of the lock
  driver::Rescue rescue_;
  /// Taken before the lock is asked for: where the system refuses it, there is nothing to give
  /// back.
  std::optional<KeeperReserve> reserve_;
  pid_t keeper_ = -1;
  lock::Log won_{};    ///< as the log is to have it
  bool held_ = false;  ///< the token is printed
  bool ward_gone_ = false;
  int interrupted_ = 0;  ///< by this signal, when the lock was held and the token not printed yet
};

}  // namespace redlock::hold
