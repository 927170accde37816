// SPDX-License-Identifier: MIT
//
// A lock that is kept for a ward: a process that we did not start and can only warn, not stop. And
// the lock has two parties: we renew it, and its owner may release it by the token at any time. We
// must not take such a release for a loss, and a key that we put back since then must not stay.
//
// The servers note such a release (redis/scripts/leave.lua). A lock that is gone without such a
// note was lost, whatever a notice says.
#pragma once

#include <algorithm>
#include <vector>

#include "lock/session.h"

namespace redlock::lock {

/// Passive, like the Session that it steps. Its only effects are Ask, Subscribe and Log.
class Keeping final : public Machine {
 public:
  /// `session` waits for the answer to Spawn, and from now on gets its events only from here.
  /// `won`: the line for the log that says that the lock was acquired.
  Keeping(Session& session, std::size_t servers, const Log& won);

  /// Takes the events of a session; the ward stands for the job. JobStarted: the owner knows the
  /// token. JobExited: the ward has ended, so the lock is released. A Signal that ends a process:
  /// we renew the lock no more and warn the ward, and wait only for the end of the ward or of the
  /// lease. A second one: we end, and the lock is left to expire.
  Effects step(const Event& event, Instant now) override;

  [[nodiscard]] Instant deadline() const override;

  /// The ward must learn that the lock is not kept any more. Stays so.
  [[nodiscard]] bool warns() const { return warns_ && !released_; }

  /// Nothing is left to do.
  [[nodiscard]] bool finished() const override;

 private:
  enum class Whom { all, reachable };

  void pass_event(const Event& event, Instant now);
  void sift(Effects effects, Instant now);
  void take_log(const Log& line);
  void take_order(int signal, Instant now);
  void take_reply(const Reply& reply, Instant now);
  void take_note(bool released, Instant now);
  void inquire(Whom whom);
  void obey(Instant now);
  void say_lost(const Log& line) {
    if (!std::exchange(said_lost_, true)) effects_.emplace_back(line);
  }
  [[nodiscard]] Log lost_line(Instant now) const;
  void take_signal(Instant now);
  void end(Instant now);
  void give_back(Instant now);
  [[nodiscard]] bool inquires() const { return std::ranges::count(inquired_, true) > 0; }
  [[nodiscard]] bool is_unreachable(ServerIndex server) const;

  Session& session_;
  Log won_;
  Instant began_{};
  Effects effects_;
  std::vector<bool> inquired_;        ///< by server: we wait for the answer to an inquiry
  std::vector<bool> leaving_;         ///< by server: we wait for the answer to a leave
  std::optional<StopReason> reason_;  ///< why a job would be stopped
  std::vector<Complaint> complaints_;
  std::optional<Log> unsaid_;  ///< the line that the lock was lost, unless its owner released it
  bool said_lost_ = false;
  bool ordered_ = false;           ///< the session ordered a signal to its job
  bool overdue_ = false;           ///< the session ordered KILL
  std::optional<Instant> ending_;  ///< when a signal first asked us to end
  bool warns_ = false;
  bool giving_back_ = false;
  bool released_ = false;  ///< the owner released the lock
  bool over_ = false;      ///< the lock is left to expire
};

}  // namespace redlock::lock
