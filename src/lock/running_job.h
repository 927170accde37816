// SPDX-License-Identifier: MIT
#pragma once

#include "lock/attempt.h"
#include "lock/effect.h"
#include "lock/timing.h"
#include "lock/watch.h"

namespace redlock::lock {

/// A lock that we hold: the servers' latest answers, until when a quorum keeps it, when to renew.
class Lease {
 public:
  Lease(const Attempt& won, const Timing& timing, Instant now);

  /// The end of the minimum hold, which begins with the request for the oldest vote; in the past if
  /// there is no minimum hold.
  [[nodiscard]] Instant keep_until() const { return keep_until_; }

  /// Asks all servers to renew if a round is due. True if the regular pace made it due.
  bool tick(Instant now, Effects& effects);

  /// Makes the next round due as soon as possible: now, unless a round has just begun.
  void hurry(Instant now);

  /// Takes any answer that concerns this lease's attempt (late votes too). May ask for a repair.
  void record(const Reply& reply, Instant now, Effects& effects);

  [[nodiscard]] Instant deadline() const { return std::min(next_round_, hurried_); }

  /// The quorum-th largest expiry. An unanswered request shortens nothing. "missing" or "not mine"
  /// zeroes that server's expiry, except for our own lock after a revocation: nobody has it yet.
  [[nodiscard]] Instant valid_until() const { return valid_until_; }

  /// A quorum of "mine" has become impossible. Final.
  [[nodiscard]] bool lost() const { return lost_; }
  /// The last moment for a KILL: valid_until(), or if the lock is lost, valid_until() before the
  /// answer that said so.
  [[nodiscard]] Instant end() const { return lost_ ? valid_until_before_loss_ : valid_until_; }

  /// Fewer than a quorum renewed in the latest complete round.
  [[nodiscard]] bool failing() const { return failing_; }

  /// A server says that the lock was revoked from us.
  [[nodiscard]] bool being_revoked() const;

  /// When the key will have expired on every server at the latest, whatever messages got lost.
  [[nodiscard]] Instant gone_by() const;

  [[nodiscard]] AttemptId attempt() const { return attempt_; }
  /// The last definite answer of this server was that it holds our token.
  [[nodiscard]] bool held_by(ServerIndex server) const {
    return voters_.at(server).latest == Whose::mine;
  }
  /// Each server that does not hold our token as far as we know, with its last answer.
  [[nodiscard]] std::vector<Complaint> complaints() const;

 private:
  enum class Whose { none, mine, elsewhere };
  struct Voter {
    Whose latest = Whose::none;  ///< last definite answer
    Instant expires{};
    std::string run_id;                ///< the server's run_id when it granted; empty if unknown
    bool wants_repair = false;         ///< answered "missing", and no quorum has renewed since
    bool twin = false;                 ///< the same server as an earlier one: has no vote
    Answer last = Missing{};           ///< for messages
    std::uint32_t answered_round = 0;  ///< the last round that it answered; 0: none
    std::uint32_t renewed_round = 0;   ///< the last round in which it renewed; 0: none
  };

  void ask_round(Instant now, Effects& effects);
  [[nodiscard]] Duration life_from(Instant now) const;
  void ask(ServerIndex server, Operation operation, Effects& effects) const;
  void count_round(const Reply& reply, Instant now);
  void take_answer(Voter& voter, const Reply& reply);
  void unmask_twin(ServerIndex server, const Reply& reply, Effects& effects);
  void repair(Instant now, Effects& effects);
  void settle();
  [[nodiscard]] bool quorum_renewed(Instant now) const;

  Timing timing_;
  AttemptId attempt_;
  std::vector<Voter> voters_;
  Instant valid_until_{};
  Instant valid_until_before_loss_{};
  Instant next_round_;
  Instant hurried_ = kNever;  ///< kept apart, because answers on their way postpone next_round_
  Instant last_asked_;
  Instant keep_until_;
  std::uint32_t round_ = 0;
  bool failing_ = false;
  bool lost_ = false;
};

/// A job under a lease: decides when and why the job must be stopped, and stops it before the lease
/// ends: the first signal, and after the grace KILL to all its processes, again and again until
/// none is left; before that, KILL to the next stage (lock/stages.h).
class RunningJob {
 public:
  /// The lock was won at `now`: even if the job cannot be started, the lock is held from now on.
  RunningJob(const Plan& plan, const Timing& timing, const Attempt& won, Instant now)
      : plan_(plan),
        timing_(timing),
        next_stage_(plan.stages.later),
        lease_(won, timing, now),
        began_(now) {}

  [[nodiscard]] Lease& lease() { return lease_; }
  [[nodiscard]] const Lease& lease() const { return lease_; }

  void started(Instant now) { began_ = now; }
  [[nodiscard]] Instant began() const { return began_; }

  /// Stops the job if it must not run on. To be called whenever the lease may have changed.
  void check(Instant now, Effects& effects);

  /// Sends what is due: the order to measure, and the signals.
  void tick(Instant now, Effects& effects);

  /// The supervisor is dead: nobody waits for the job any more. `ordered`: as in SupervisorGone;
  /// the stage before has said why.
  void end_unsupervised(bool ordered, Instant now, Effects& effects);
  /// The main process has ended. Unless it ended by itself, or --wait-all waits for what it has
  /// left, that gets KILL one grace later.
  void main_process_ended(JobEnd end, Instant now, Effects& effects);

  void take_kill_cost(Duration length, Instant now, Effects& effects);
  /// The result of the last KILL: whether it reached a process that no KILL had reached before.
  void killed(bool found_new) { pause_ = pause_after_kill(pause_, found_new); }

  [[nodiscard]] bool stopping() const { return stop_reason_.has_value(); }
  /// The main process has ended, and what it has left must end before the lock is free.
  [[nodiscard]] bool ending() const { return say_ending_at_.has_value(); }
  /// None while the job may run, and if it ended by itself.
  [[nodiscard]] std::optional<StopReason> stop_reason() const { return stop_reason_; }

  [[nodiscard]] Instant deadline() const;

  [[nodiscard]] WorkerState worker_state() const;

 private:
  [[nodiscard]] Instant term_at() const {
    return timing_.term_at(lease_.valid_until(), head_start_);
  }
  /// Measures only if a renewal is overdue: a measurement takes time.
  [[nodiscard]] Instant measure_at() const {
    return timing_.term_at(lease_.valid_until(), timing_.longest_head_start());
  }
  [[nodiscard]] Instant runtime_end() const;
  [[nodiscard]] Instant kill_due() const;
  void tell_outage(Instant now, Effects& effects);
  void order_measure(Instant now, Effects& effects);
  void stop(StopReason reason, Instant now, Effects& effects);
  void begin_to_stop(Instant now, Effects& effects);
  void kill_if_due(Instant now, Effects& effects);

  Plan plan_;
  Timing timing_;
  bool next_stage_;  ///< the main process lives, and is a redlock that takes the next lock
  Lease lease_;
  Instant began_;
  Instant outage_since_ = kNever;  ///< since then, fewer than a quorum renew
  bool outage_reported_ = false;
  bool measured_ = false;  ///< a measurement was ordered since the last renewal
  Duration head_start_{};  ///< how much earlier the job must end because it has many processes
  std::optional<StopReason> stop_reason_;
  std::optional<Instant> stop_began_;     ///< the grace before KILL counts from here
  std::optional<Instant> say_ending_at_;  ///< when to report that something of the job is left
  bool grace_over_ = false;               ///< the first KILL is due
  bool unwinding_ = false;                ///< the last KILL was for the next stage's supervisor
  Instant last_kill_ = kNever;
  Duration pause_ = kKillAgain;
};

}  // namespace redlock::lock
