// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "driver/driver.h"
#include "driver/lock_id.h"
#include "lock/session.h"
#include "lock/vote.h"
#include "os/signals.h"
#include "redis/servers/server_set.h"

namespace redlock::check {

/// The outcome of acquiring, renewing and releasing a lock.
struct SelfTestResult {
  /// The last answer of one server to each request; none: there was no request, or no answer in
  /// time.
  struct Steps {
    std::optional<lock::Answer> acquired;
    std::optional<lock::Answer> renewed;
    std::optional<lock::Answer> released;
  };

  lock::Outcome outcome;
  std::vector<Steps> servers;
  std::optional<lock::report::Acquired> grant;  ///< none: redlock did not get the lock
  std::optional<lock::Refused> holder;          ///< somebody else's hold, which prevented that
  std::vector<lock::Complaint> complaints;      ///< why there was no quorum
  int interrupted = 0;                          ///< this signal ended the test; 0: none
};

/// A `redlock run` whose job ends as soon as its lock has been renewed once: the same session, the
/// same server set. The first renewal is due after a third of the ttl; the user should not wait for
/// it, so the clock of the self-test jumps to that moment. It only jumps forward: the servers just
/// see an early renewal.
class SelfTest : private driver::Host {
 public:
  SelfTest(const config::Settings& settings, const driver::LockId& lock);

  SelfTestResult run();

 private:
  using Step = std::optional<lock::Answer> SelfTestResult::Steps::*;

  bool perform(const lock::Effect& effect, lock::Instant now) override;
  bool take_signal(const lock::Signal& signal, lock::Instant now) override;
  void heard(const lock::Reply& reply) override;
  void turned(lock::Instant now) override;
  void note(const lock::Report& report);
  [[nodiscard]] bool all_answered(Step step) const;

  lock::Plan plan_;
  lock::Duration patience_;   ///< longer than any answer may take, with connecting
  os::SignalSource signals_;  // first: from here on no signal leaves a lock behind
  redis::ServerSet servers_;
  lock::Session session_;
  driver::Driver driver_;
  SelfTestResult result_;
  bool holding_ = false;
  bool jumped_ = false;                    ///< to the first renewal
  lock::Instant go_on_by_ = lock::kNever;  ///< do not wait for the other servers after this
};

}  // namespace redlock::check
