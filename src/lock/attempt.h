// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock/time.h"
#include "lock/timing.h"
#include "lock/vote.h"

namespace redlock::lock {

/// The moment a vote of `ttl` given to a request sent at `sent` must no longer be relied on.
constexpr Instant vote_expiry(Instant sent, const Timing& timing) {
  return sent + timing.ttl - timing.drift();
}

/// The quorum-th largest of the servers' expiries: until then a quorum of them surely holds our
/// token. The one definition of validity: for acquire, late votes, renewals alike.
Instant quorum_expiry(std::vector<Instant> expiries);

/// What a round has come to.
enum class Verdict {
  pending,      ///< answers are missing that may still decide
  won,          ///< a quorum granted, with enough validity left to start a job
  done,         ///< one knows of a successful run that makes ours superfluous
  conflict,     ///< a quorum refuses for one and the same holder
  split,        ///< a quorum answered, but nobody has it: contenders took each other's votes
  unavailable,  ///< fewer than a quorum answered
  distrusted,   ///< a quorum granted, but too many of them were started only just now
  same_server,  ///< two configured servers are one
};

/// One acquire attempt: one token, and what each server said to it. A token that may be on a server
/// and was released is never asked for again: a stale release would delete the new vote. So only
/// servers on which it certainly is not are asked again within an attempt.
class Attempt {
 public:
  enum class VoteState {
    absent,     ///< not asked yet, or the request certainly did not arrive
    asked,      ///< no answer yet
    granted,    ///<
    refused,    ///< our token is certainly not there
    uncertain,  ///< asked and given up on: the token may be there
    done,       ///< not needed: our token is certainly not there
  };
  struct Vote {
    VoteState state = VoteState::absent;
    Instant expires{};       ///< granted: see vote_expiry
    Granted grant;           ///< granted: what the server said of itself
    Refused refusal;         ///< refused: by whom
    bool permanent = false;  ///< unreachable for good
    bool reported = false;   ///< an answer (or its absence) came since the round began
  };

  Attempt(AttemptId id, std::size_t servers) : id_(id), votes_(servers) {}

  /// Asks every server on which the token certainly is not.
  std::vector<Ask> begin_round(std::uint32_t round, const Timing& timing);

  /// Takes an answer to one of this attempt's acquire requests.
  void record(const Reply& reply, const Timing& timing);

  /// A grant is a vote until it expires: after that somebody else may have been granted the lock by
  /// the same server.
  static bool counts(const Vote& vote, Instant now) {
    return vote.state == VoteState::granted && vote.expires > now;
  }

  [[nodiscard]] Verdict verdict(Instant now, const Timing& timing) const;

  [[nodiscard]] AttemptId id() const { return id_; }
  [[nodiscard]] const std::vector<Vote>& votes() const { return votes_; }
  [[nodiscard]] Instant valid_until() const;

  /// The servers on which the token is or may be: those a release must go to.
  [[nodiscard]] std::vector<ServerIndex> entered() const;

  /// The refusal to show to a person: the holder named by most servers. None if nobody refused.
  [[nodiscard]] const Refused* main_refusal() const;

  /// A server knows of a successful run that makes ours superfluous.
  [[nodiscard]] bool done() const;

  /// So many servers do not know the lock that was to be joined that it is not held any more.
  [[nodiscard]] bool join_refused() const;

  /// Two configured servers that are one: their votes would count twice.
  [[nodiscard]] std::optional<std::pair<ServerIndex, ServerIndex>> same_server() const;

  /// How many servers can never be used as they are.
  [[nodiscard]] std::size_t permanently_unreachable() const;

 private:
  [[nodiscard]] bool trustworthy(Instant now) const;

  AttemptId id_;
  std::vector<Vote> votes_;
};

}  // namespace redlock::lock
