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
#include "redis/server_set.h"

namespace redlock::check {

/// What taking, renewing and releasing a lock came to.
struct SelfTestResult {
  /// The last answer of one server to each request; none: it was not asked, or not in time.
  struct Steps {
    std::optional<lock::Answer> acquired;
    std::optional<lock::Answer> renewed;
    std::optional<lock::Answer> released;
  };

  lock::Outcome outcome;
  std::vector<Steps> servers;
  std::optional<lock::report::Acquired> grant;  ///< none: it was not had
  std::optional<lock::Refused> holder;          ///< who has it instead
  std::vector<lock::Complaint> complaints;      ///< why there was no quorum
  int interrupted = 0;                          ///< by this signal
};

/// A `redlock run` whose job ends as soon as its lock has been renewed once: the same session, the
/// same server set. The first renewal is due after a third of the ttl; nobody shall wait for it, so
/// the clock of the self-test then jumps there. It jumps forward only: to the servers all of it
/// looks like a renewal that comes early.
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
  lock::Duration patience_;   ///< longer than any answer may take, connecting included
  os::SignalSource signals_;  // first: from here on no signal leaves a lock behind
  redis::ServerSet servers_;
  lock::Session session_;
  driver::Driver driver_;
  SelfTestResult result_;
  bool holding_ = false;
  bool jumped_ = false;                    ///< to the first renewal
  lock::Instant go_on_by_ = lock::kNever;  ///< whoever has not answered then is not waited for
};

}  // namespace redlock::check
