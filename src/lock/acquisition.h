// SPDX-License-Identifier: MIT
#pragma once

#include "lock/attempt.h"
#include "lock/effect.h"
#include "lock/release.h"
#include "lock/replacement.h"
#include "lock/timing.h"
#include "lock/waiter.h"

namespace redlock::lock {

/// What is known about a lock while a process waits for it. For display only.
struct Waiting {
  /// The holder that the servers named last, and when they named it. None: the holder is unknown,
  /// or several contenders split the votes.
  std::optional<Refused> refusal{};
  Instant refused_at{};
  bool asked = false;         ///< every server has answered or failed at least once
  bool lacks_quorum = false;  ///< fewer than a quorum of servers could grant us the lock lately
  bool obstructed = false;    ///< that is so, although a quorum answered: see Obstacles
  bool distrusted = false;  ///< a server answers, but was restarted so recently that it has no vote
  std::size_t answering = 0;  ///< the number of servers that answered lately, and are no obstacle
  std::size_t servers = 0;
  std::size_t place = 0;   ///< ours in the queue of waiters, from 1; 0: unknown
  std::size_t length = 0;  ///< of that queue
};

/// Getting the lock: rounds of one attempt after another, pauses between them, and the limits.
class Acquisition {
 public:
  enum class State { trying, won, done, conflict, unavailable, misconfigured };

  /// Starts at `now`; the first tick asks for the first round.
  Acquisition(const Plan& plan, Instant now);

  /// Checks the limits, and starts a round if one is due. To be called also after the win.
  void tick(Instant now, Effects& effects);

  /// Takes any reply, also to an earlier attempt. To be called also after the win, for late votes.
  void record(const Reply& reply, Instant now, Effects& effects);

  /// Gives back every token that may be on a server, through release(), and leaves the queue. For a
  /// caller that does not want the lock any more.
  void withdraw(Effects& effects) {
    end_attempt(effects);
    settle(effects, false);
  }

  /// Leaves the queue, and releases what earlier attempts may get. `has_lock`: the job runs.
  void settle(Effects& effects, bool has_lock);

  /// Starts the next round after `in`; in the present round, asks the servers that refused once
  /// more. An endless stream of wake-ups costs ten rounds a second.
  void wake(Duration in, Instant now);

  void hear(ServerIndex server, Instant now) {
    if (waiter_.hear(server)) wake(Duration::zero(), now);
  }

  /// The lengths from now on: those of a lock that ends at a fixed moment shrink.
  void set_timing(const Timing& timing) { timing_ = timing; }
  [[nodiscard]] const Timing& timing() const { return timing_; }

  void record_left(const Reply& reply) { waiter_.record_left(reply); }

  enum class Whom {
    all,
    answering  ///< the servers that answered our last request before the end
  };
  /// These servers have answered all our releases, and those that are not silent have also
  /// confirmed that we left their queues.
  [[nodiscard]] bool gave_back(Whom whom) const;

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] Instant deadline() const {
    return std::min({wait_limit(), server_limit(), quorum_news(), next_question()});
  }
  [[nodiscard]] const Attempt& attempt() const { return attempt_; }
  /// By a newer run. If so, and we have not won, the state becomes `done`.
  [[nodiscard]] const std::optional<Superseded>& superseded() const { return superseded_; }

  /// The releases that earlier attempts still owe; a session goes on with them.
  [[nodiscard]] Releases& release() { return release_; }

  /// Checks a won attempt again. False if late votes show that two configured servers are one, or
  /// that another run already did our work, or if the win has become too old to start a job.
  [[nodiscard]] bool confirm_win(Instant now, Effects& effects);

  /// Drops a won attempt that came to nothing, and tries again.
  void abandon_win(Instant now, Effects& effects);

  /// The same if the servers could not agree on a fencing number: they count as unreachable.
  void abandon_unnumbered(Instant now, Effects& effects);

  [[nodiscard]] Waiting waiting() const;

  /// The servers that failed in the last round, with their answers.
  [[nodiscard]] std::vector<Complaint> complaints() const;

 private:
  /// The last report about the holder of the lock.
  struct Announced {
    std::string token;
    bool revoked;
    bool maintenance;
    Instant at;
  };

  /// No quorum could grant us the lock.
  struct Missing {
    Instant since;
    unsigned reports = 0;  ///< of QuorumMissing
  };

  void ask(Effects& effects);
  void finish_round(Verdict verdict, Instant now, Effects& effects);
  void take_probe(Instant now, Effects& effects);
  void note_useless();
  void give_up(State why, Effects& effects);
  void end_attempt(Effects& effects);
  void join_or_not(Effects& effects);
  [[nodiscard]] bool held_by_ancestor() const;
  [[nodiscard]] bool is_crowded();
  [[nodiscard]] bool tries_once() const { return plan_.patience.wait == Duration::zero(); }
  [[nodiscard]] bool is_hopeless() const {
    const std::size_t unusable = how_many(attempt_.votes(), &Attempt::Vote::permanent);
    return unusable >= blocking_minority(plan_.servers);
  }
  void record_late(const Reply& reply, Effects& effects);
  void try_again(Instant now, Effects& effects);
  void reject_twins(Effects& effects);
  [[nodiscard]] Instant quorum_news() const;
  [[nodiscard]] Instant next_question() const;
  [[nodiscard]] std::size_t answering() const;
  void tell_contended(Instant now, Effects& effects);
  void rest(Instant now, Duration pause);
  [[nodiscard]] Instant wait_limit() const;
  [[nodiscard]] Instant server_limit() const;
  [[nodiscard]] bool refusals_last(Instant now);
  [[nodiscard]] Attempt next_attempt(AttemptId id) const {
    return {id, attempt_.votes().size(), slot_choice_.slot()};
  }

  Plan plan_;
  Timing timing_;
  Replacement replacement_;
  Pauses pauses_;
  Obstacles obstacles_;
  State state_ = State::trying;
  SlotChoice slot_choice_;
  Attempt attempt_;
  Releases release_;
  bool in_round_ = false;
  std::vector<bool> asked_;  ///< by server: the present round asks it, unless it may have the token
  Waiter waiter_;
  /// Requests without an answer of attempts that ended in vain. We release a late grant.
  std::vector<std::pair<ServerIndex, AttemptId>> unanswered_;
  bool finished_a_round_ = false;
  bool split_ = false;  ///< contenders split the votes of the last round
  std::uint32_t round_ = 0;
  Instant began_;
  Instant round_began_;
  Instant next_round_;
  Instant ask_again_ = kNever;  ///< after a wake-up: when to ask, in or after the present round
  unsigned woken_rounds_ = 0;   ///< rounds in a row that a wake-up started early
  Instant limit_;               ///< the end of -w, or of kTryOnceBears
  std::optional<Instant> short_since_;  ///< since then fewer than a quorum of servers answered
  std::optional<Missing> missing_;
  bool answered_last_round_ = false;  ///< a quorum of servers answered the last round
  std::optional<Announced> announced_;
  std::optional<Superseded> superseded_;
  std::size_t crowd_ = 0;  ///< the waiters before us, if these are too many
  std::optional<Refused> last_refusal_;
  Instant refused_at_{};
  std::vector<std::optional<Answer>> troubles_;
  std::vector<std::string> last_refusals_;  ///< by server; all the same since refused_since_
  Instant refused_since_{};
};

}  // namespace redlock::lock
