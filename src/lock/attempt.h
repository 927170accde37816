// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <iterator>
#include <utility>

#include "lock/timing.h"
#include "lock/vote.h"

namespace redlock::lock {

/// The moment from which a vote no longer counts: `sent` is when the request was sent.
constexpr Instant vote_expiry(Instant sent, const Timing& timing) {
  return sent + timing.ttl - timing.drift();
}

/// The quorum-th largest of the voters' expiries: until then a quorum of servers surely holds our
/// token. This is the one definition of validity, for acquire, late votes and renewals alike.
template <class Voters, class ExpiryOf>
Instant quorum_expiry(const Voters& voters, ExpiryOf expiry_of) {
  std::vector<Instant> expiries;
  std::ranges::transform(voters, std::back_inserter(expiries), expiry_of);
  const auto nth = expiries.begin() + static_cast<std::ptrdiff_t>(quorum(expiries.size()) - 1);
  std::ranges::nth_element(expiries, nth, std::greater<>());
  return *nth;
}

enum class Verdict {
  pending,   ///< missing answers may still decide
  won,       ///< a quorum granted, with enough validity left to start a job
  done,      ///< a server knows of another run that makes ours needless
  conflict,  ///< a quorum refuses for one and the same holder
  split,     ///< a quorum answered, but no process has the lock: contenders took each other's votes
  unavailable,  ///< fewer than a quorum answered
  distrusted,   ///< a quorum granted, but too many of these servers restarted recently
  same_server,  ///< two configured servers are one server
};

/// One acquire attempt: one token, and each server's answer. A late release would delete a new vote
/// for its token, so we ask again only those servers that certainly do not have the token.
class Attempt {
 public:
  enum class VoteState {
    absent,  ///< not asked yet, or the request certainly did not arrive
    asked,   ///< no answer yet
    granted,
    refused,    ///< our token is certainly not there
    uncertain,  ///< the request failed, but the token may be there
    done,       ///< another run makes ours needless; our token is certainly not there
  };
  struct Vote {
    VoteState state = VoteState::absent;
    Instant expires{};       ///< granted: see vote_expiry
    Granted grant;           ///< granted: the server's answer
    Refused refusal;         ///< refused: the server's answer
    bool permanent = false;  ///< unreachable, and asking again cannot help
    bool reported = false;   ///< the answer came, or the request failed, since the round began
  };

  /// slot: the slot that it asks for; 0: the lock has no slots.
  Attempt(AttemptId id, std::size_t servers, std::size_t slot = 0)
      : id_(id), slot_(slot), votes_(servers) {}

  /// Asks those of the servers `to_ask` that certainly do not have the token.
  std::vector<Ask> begin_round(std::uint32_t round, Ticket ticket, const Timing& timing,
                               const std::vector<bool>& to_ask);

  /// Takes an answer to one of this attempt's acquire requests.
  void record(const Reply& reply, const Timing& timing);

  /// After a grant has expired, that server may have granted the lock to another process.
  static bool counts(const Vote& vote, Instant now) {
    return vote.state == VoteState::granted && vote.expires > now;
  }

  [[nodiscard]] Verdict verdict(Instant now, const Timing& timing) const;

  /// No answer of this round is missing.
  [[nodiscard]] bool all_reported() const { return std::ranges::all_of(votes_, &Vote::reported); }

  [[nodiscard]] AttemptId id() const { return id_; }
  [[nodiscard]] std::size_t slot() const { return slot_; }
  [[nodiscard]] const std::vector<Vote>& votes() const { return votes_; }
  [[nodiscard]] Instant valid_until() const;

  /// The servers that have the token or may have it: a release must go to each of them.
  [[nodiscard]] std::vector<ServerIndex> entered() const;

  /// The number of servers that refused, be it by a holder or by a turn.
  [[nodiscard]] std::size_t refused() const {
    return how_many(votes_, VoteState::refused, &Vote::state);
  }

  /// For how long the last turn lasts, if every server that refused did so for a turn.
  [[nodiscard]] std::optional<Duration> turns_left() const;

  /// The refusal to show to the user: the holder that most servers name. Null if none names one.
  [[nodiscard]] const Refused* main_refusal() const;

  /// At least this many waiters stand before us, as a quorum of the servers says.
  [[nodiscard]] std::size_t waiters_before() const;

  /// Where a forced release would revoke the lock from the holder that most servers name, and what
  /// each of them says of it. Empty if it cools down, is revoked already, or has no record: then it
  /// may be another program's.
  [[nodiscard]] std::vector<std::pair<ServerIndex, Refused>> revocable() const;

  /// A server knows of another run that makes ours needless: see Done and Superseded.
  [[nodiscard]] bool done() const { return how_many(votes_, VoteState::done, &Vote::state) > 0; }

  /// We wanted to join a lock that a quorum does not hold any more.
  [[nodiscard]] bool join_refused() const {
    return is_join(id_) && refused() >= blocking_minority(votes_.size());
  }

  /// Two configured servers that are one server: its vote would count twice.
  [[nodiscard]] std::optional<std::pair<ServerIndex, ServerIndex>> same_server() const;

 private:
  [[nodiscard]] bool trustworthy(Instant now) const;

  AttemptId id_;
  std::size_t slot_;
  std::vector<Vote> votes_;
};

/// The servers that keep us from a quorum, whoever holds the lock: they are silent, they restarted
/// recently, or they hold a value that is not the holder's, such as a key that an earlier lock left
/// behind. If they leave no quorum, we must not stand in the queue before others.
class Obstacles {
 public:
  explicit Obstacles(std::size_t servers) : answers_(servers), stand_(servers, false) {}

  /// Takes a round in vain in which all servers were asked. A server counts as an obstacle when two
  /// rounds running found it in the same state: contenders that are taking the lock change from
  /// round to round. `unavailable`: fewer than a quorum answered; then one round is enough.
  void note_round(const Attempt& ended, bool unavailable);

  /// Takes an attempt that asks the obstacles only; its missing answers change nothing.
  void note_probe(const Attempt& attempt);

  /// The obstacles leave no quorum.
  [[nodiscard]] bool prevail() const { return prevail_; }
  [[nodiscard]] bool contains(ServerIndex server) const { return prevail_ && stand_.at(server); }

  /// By server: whether to ask it in the round that begins. While the obstacles prevail we ask only
  /// them: a vote of another server would be of no use to us, and others may need it. Now and then
  /// we ask all servers, and take that round for a new judgement.
  [[nodiscard]] std::vector<bool> to_ask();

 private:
  void spare_holder(std::size_t at_least);
  void judge() { prevail_ = how_many(stand_, std::identity()) >= blocking_minority(stand_.size()); }

  std::vector<std::string> answers_;  ///< by server, the latest ones; empty: it would grant
  std::vector<bool> stand_;           ///< by server: it is an obstacle
  bool prevail_ = false;
  unsigned probes_ = 0;
};

/// Which of a lock's slots to ask for. Each slot is an exclusive lock: a job needs one slot, the
/// same one on a quorum of servers.
///
/// A refusal tells, for each slot, the first digits of its holder's token, or nothing, separated by
/// commas. Servers are not trusted: an odd text costs a round at most.
class SlotChoice {
 public:
  /// slots: 0: the lock has none; otherwise at most kMostSlots.
  SlotChoice(std::size_t slots, std::uint64_t seed)
      : slots_(slots), slot_(slots == 0 ? 0 : 1 + seed % slots) {}

  /// The slot to ask for in the next attempt, from 1; 0: the lock has no slots.
  [[nodiscard]] std::size_t slot() const { return slot_; }

  enum class Next {
    as_judged,  ///< a conflict or a split, as for any lock: all slots are held, or it is not our
                ///< turn, or a quorum holds the lock in another way
    elsewhere,  ///< another slot is free on a quorum: ask for it immediately
    split       ///< no quorum agrees who has each slot: others are still taking theirs
  };
  /// Chooses a slot after a round in vain that ended in a conflict or a split.
  Next choose(const Attempt& ended);

 private:
  std::size_t slots_;
  std::size_t slot_;
  std::size_t moves_ = 0;  ///< in a row, from slot to slot
};

}  // namespace redlock::lock
