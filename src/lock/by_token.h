// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lock/attempt.h"
#include "lock/drive.h"

namespace redlock::lock {

/// One renewal, or the release, of a lock by its token alone, for a process that did not take the
/// lock and does not stay. It asks all servers, and asks again where a request failed, until a
/// quorum has said yes, a quorum of yes has become impossible, or the patience is over.
class ByToken final : public Machine {
 public:
  enum class State {
    trying,
    done,         ///< a quorum renewed, or released
    not_ours,     ///< on too many servers the lock is gone, or has another token
    unavailable,  ///< too few servers answered
  };

  struct Terms {
    Op op;  ///< renew, or leave
    Timing timing;
    Duration patience;  ///< how long to wait for a quorum
    Duration linger;    ///< how long to wait for the other servers once the result is clear
  };

  /// The first tick asks for the first round, for the attempt `attempt`. servers >= 1.
  ByToken(std::size_t servers, AttemptId attempt, const Terms& terms, Instant now);

  Effects step(const Event& event, Instant now) override;

  [[nodiscard]] Instant deadline() const override {
    return state_ == State::trying ? std::min(limit_, next_round_) : limit_;
  }

  /// It waits for nothing any more. state() may be final before that.
  [[nodiscard]] bool finished() const override { return finished_; }
  [[nodiscard]] State state() const { return state_; }

  /// Of a release: a quorum says that processes that joined still hold the lock.
  [[nodiscard]] bool kept() const {
    const auto says_so = [](const Voter& voter) {
      const auto* released = std::get_if<Released>(&voter.last);
      return released != nullptr && released->kept;
    };
    return how_many(voters_, says_so) >= quorum(voters_.size());
  }

  /// For a renewal: until then a quorum surely keeps the token.
  [[nodiscard]] Instant valid_until() const { return quorum_expiry(voters_, &Voter::expires); }
  /// The servers that have not said yes, with their last answers.
  [[nodiscard]] std::vector<Complaint> complaints() const {
    return complaints_unless(voters_, [](const Voter& each) { return each.said == Said::yes; });
  }

 private:
  enum class Said { nothing, yes, no };
  struct Voter {
    Said said = Said::nothing;
    bool asked = false;  ///< we wait for an answer
    /// An earlier request failed, but the server may have carried it out. Then a release that finds
    /// no key does not say whether the lock was there before.
    bool failed_before = false;
    bool permanent = false;       ///< asking again cannot help
    bool repaired = false;        ///< we asked the server to take the lock back
    std::uint32_t yes_round = 0;  ///< the round of its last yes; 0: none
    Instant expires{};            ///< for a renewal
    Answer last = Unreachable{};
  };

  void tick(Instant now, Effects& effects);
  void record(const Reply& reply, Instant now, Effects& effects);
  void ask_round(Effects& effects);
  void take_answer(Voter& voter, const Reply& reply) const;
  void settle(Instant now);
  void repair(Effects& effects);
  void decide(State state, Instant now, Duration linger) {
    state_ = state;
    limit_ = now + linger;
  }
  void check_finished(Instant now);
  [[nodiscard]] std::size_t saying(Said said) const {
    return how_many(voters_, said, &Voter::said);
  }

  Terms terms_;
  AttemptId attempt_;
  std::vector<Voter> voters_;
  State state_ = State::trying;
  bool finished_ = false;
  std::uint32_t round_ = 0;
  Instant next_round_;
  Instant limit_;  ///< the end of the patience; once the result is clear, of `linger`
};

}  // namespace redlock::lock
