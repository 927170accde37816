// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lock/attempt.h"
#include "lock/backoff.h"
#include "lock/effect.h"
#include "lock/release.h"
#include "lock/time.h"
#include "lock/timing.h"
#include "lock/vote.h"

namespace redlock::lock {

/// What is known about a lock while a process waits for it. It is for display: nothing is decided
/// by it.
struct Waiting {
  /// The holder that the servers named last, and when they did; none: not known, or several
  /// contenders.
  std::optional<Refused> refusal{};
  Instant refused_at{};
  bool asked = false;         ///< all servers have answered, or failed to, at least once
  bool lacks_quorum = false;  ///< fewer than a quorum have answered lately
  std::size_t answering = 0;  ///< servers that have
  std::size_t servers = 0;
};

/// Getting the lock: rounds of one attempt after another, pauses between them, and the limits.
class Acquisition {
 public:
  enum class State { trying, won, done, conflict, unavailable, misconfigured };

  /// Starts at `now`; the first round is asked for in the first tick. servers >= 1.
  /// `joins`: an ancestor may hold the lock; if the servers confirm that, ours is a further hold.
  Acquisition(std::size_t servers, const Timing& timing, const Patience& patience, bool joins,
              std::uint64_t seed, Instant now);

  /// Looks at the limits, then asks if it is time to. While trying, and, for the limits, once won.
  void tick(Instant now, Effects& effects);

  /// Takes any reply: of the current round, or of an earlier attempt's release. While trying, and
  /// for late votes once won.
  void record(const Reply& reply, Instant now, Effects& effects);

  /// Gives back whatever may be on a server, through release(). For who loses interest in a lock.
  void give_back(Effects& effects);

  /// Asks soon if it is waiting: at once, or, where another one was woken first, when that one has
  /// had its chance. A word that is wrong costs a round; those that never end, ten a second.
  void wake(bool next, Instant now);

  /// For who needs the lock no more, or has it; after give_back(), so that the next one is woken
  /// when a vote is back. (Giving up by itself does that, too.)
  void leave_queue(Effects& effects);

  /// Takes the answer to that. One that could not be had is one: what is left of us in a queue
  /// counts for 20 s.
  void record_left(const Reply& reply) { leaving_.at(reply.ask.server) = false; }

  enum class Whom {
    all,
    answering  ///< the servers that answered what they were asked last before the end
  };
  /// These servers have answered whatever was given back to them; and those that answer, that we
  /// leave their queues.
  [[nodiscard]] bool gave_back(Whom whom) const;

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] Instant deadline() const;
  [[nodiscard]] const Attempt& attempt() const { return attempt_; }

  /// What earlier attempts still owe; whoever ends this acquisition goes on with it.
  [[nodiscard]] Release& release() { return release_; }

  /// Drops a won attempt that turned out to be too old to start a job on, and tries again.
  void abandon_win(Instant now, Effects& effects);

  /// The same where no fencing number could be agreed on: the servers are as good as unreachable.
  void abandon_unnumbered(Instant now, Effects& effects);

  /// A won attempt's late votes may tell of a run that makes ours superfluous.
  void yield_to_done(Effects& effects) { give_up(State::done, effects); }

  /// A won attempt's late votes may show that two configured servers are one: then it is no win.
  void reject_twins(Effects& effects);

  [[nodiscard]] Waiting waiting() const;

  /// Servers that did not answer at their last chance.
  [[nodiscard]] std::vector<Complaint> complaints() const;

 private:
  /// What whoever waits has heard last of the lock.
  struct Announced {
    std::string token;
    bool revoked;
    Instant at;
  };

  void start_round(Instant now, Effects& effects);
  void finish_round(Verdict verdict, Instant now, Effects& effects);
  void give_up(State why, Effects& effects);
  void try_again(Instant now, Effects& effects);
  void note_distrusted();
  void tell_quorum_missing(Instant now, Effects& effects);
  [[nodiscard]] Instant quorum_news() const;
  [[nodiscard]] std::size_t answering() const;
  void tell_contended(Instant now, Effects& effects);
  void rest(Instant now, Duration pause);
  [[nodiscard]] Instant wait_limit() const;
  [[nodiscard]] Instant server_limit() const;
  [[nodiscard]] Duration conflict_pause();
  [[nodiscard]] bool same_refusals_as_last_round();

  Timing timing_;
  Patience patience_;
  Jitter jitter_;
  State state_ = State::trying;
  Attempt attempt_;
  Release release_;
  bool in_round_ = false;
  bool in_queue_ = false;
  std::vector<bool> leaving_;  ///< by server: its queue, and an answer is awaited
  bool finished_a_round_ = false;
  bool split_ = false;  ///< in the last round the votes were
  std::uint32_t round_ = 0;
  Instant began_;
  Instant round_began_;
  Instant next_round_;
  Instant ask_again_ = kNever;          ///< woken: then, or after the present round
  unsigned woken_rounds_ = 0;           ///< that began before their time, one after the other
  Instant limit_;                       ///< of -w, or of what -n bears
  std::optional<Instant> short_since_;  ///< fewer than a quorum answered, since then
  unsigned told_missing_ = 0;           ///< so often, since then
  bool answered_last_round_ = false;    ///< a quorum did
  std::optional<Announced> announced_;
  std::optional<Refused> last_refusal_;
  Instant refused_at_{};
  std::vector<std::optional<Answer>> troubles_;
  std::vector<std::string> last_refusals_;
  Backoff conflict_backoff_;
  bool asks_at_expiry_ = false;  ///< the pause before the latest round was cut to less than 50 ms
  Backoff split_backoff_;
  Backoff unreachable_backoff_;
};

}  // namespace redlock::lock
