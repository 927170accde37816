// SPDX-License-Identifier: MIT
//
// A lock that is kept for a ward: a process that nobody here started or can stop. What a session
// does to its job, it cannot do to a ward; that is only warned. And the lock has two parties, us
// who renew it and its owner, who may release it by the token at any time: a release must not be
// taken for a loss, and what we put back meanwhile must not stay.
//
// The servers note such a release (redis/scripts/leave.lua). A lock that is gone without a note of
// it was lost; word of a release that no server has a note of is nothing.
#pragma once

#include <optional>
#include <vector>

#include "lock/drive.h"
#include "lock/effect.h"
#include "lock/event.h"
#include "lock/session.h"
#include "lock/time.h"
#include "lock/vote.h"

namespace redlock::lock {

/// Passive, as Session is, which it steps. Gives only Ask, Subscribe and Log.
class Keeping : public Machine {
 public:
  /// `session` waits for the answer to Spawn, and gets no events but through this. `won`: the line
  /// of the log that says so.
  Keeping(Session& session, std::size_t servers, const Log& won);

  /// What a session takes, where the ward stands for the job. JobStarted: the token is known to its
  /// owner. JobExited: the ward has ended, and the lock is given back. A Signal that ends a
  /// process: we are to end, and the ward lives; the lock is left to expire.
  Effects step(const Event& event, Instant now) override;

  [[nodiscard]] Instant deadline() const override;

  /// The ward is to know that the lock is not kept any more. Stays so.
  [[nodiscard]] bool warns() const { return warns_ && !released_; }

  /// Nothing more is to be done.
  [[nodiscard]] bool finished() const override;

 private:
  enum class Whom { all, reachable };

  void begin(Instant now);
  void pass_event(const Event& event, Instant now);
  void sift(const Effects& effects, Instant now);
  void pass_on(Ask ask);
  void take_log(const Log& line);
  void take_order(int signal, Instant now);
  void take_reply(const Reply& reply, Instant now);
  void take_note(bool released, Instant now);
  void inquire(Whom whom);
  void obey(Instant now);
  void say_lost(const Log& line);
  [[nodiscard]] Log lost_line(Instant now) const;
  void end(Instant now);
  void give_back(Instant now);
  [[nodiscard]] bool inquires() const;
  [[nodiscard]] bool is_unreachable(ServerIndex server) const;

  Session& session_;
  Log won_;
  Instant began_{};
  Effects effects_;
  std::vector<bool> inquired_;        ///< by server: an answer is awaited
  std::vector<bool> leaving_;         ///< the same of a leave
  std::optional<StopReason> reason_;  ///< why a job would be stopped
  std::vector<Complaint> complaints_;
  std::optional<Log> unsaid_;  ///< that it was lost, unless it was released
  bool said_lost_ = false;
  bool ordered_ = false;  ///< a job would have been sent a signal
  bool overdue_ = false;  ///< it would have been killed
  bool warns_ = false;
  bool giving_back_ = false;
  bool released_ = false;  ///< by its owner
  bool over_ = false;      ///< the lock is left to expire
};

}  // namespace redlock::lock
