// SPDX-License-Identifier: MIT
#include "lock/fence.h"

#include <algorithm>
#include <functional>
#include <map>

#include "lock/timing.h"

namespace redlock::lock {

namespace {

/// A number is refused only where a server knows a larger one, or cannot vouch for its own; each
/// round learns from the last. More rounds than this mean that servers fail under us.
constexpr std::uint32_t kMostRounds = 5;

/// Numbers begin at a server's clock, in ms, and rise by one. One that is so far ahead of the
/// clocks (317 years) was put there. A sound server refuses to go on from it.
constexpr std::uint64_t kFarAhead = 10'000'000'000'000;

/// The largest number that may be committed: by the clock that a quorum's clocks have reached, so
/// that no minority can raise it.
std::uint64_t largest_plausible(const Attempt& won) {
  std::vector<std::uint64_t> clocks;
  clocks.reserve(won.ballots().size());
  for (const Attempt::Ballot& ballot : won.ballots()) {
    const bool granted = ballot.standing == Attempt::Standing::granted;
    clocks.push_back(granted ? static_cast<std::uint64_t>(ballot.grant.clock.count()) : 0);
  }
  std::sort(clocks.begin(), clocks.end(), std::greater<>());
  return clocks.at(quorum(clocks.size()) - 1) + kFarAhead;
}

}  // namespace

FenceAgreement::FenceAgreement(const Attempt& won, Instant now, Effects& effects)
    : attempt_(won.id()), most_(largest_plausible(won)), words_(won.ballots().size()) {
  std::map<std::uint64_t, std::size_t> votes;
  for (const Attempt::Ballot& ballot : won.ballots()) {
    if (ballot.standing != Attempt::Standing::granted || ballot.grant.fence == 0) continue;
    learn(ballot.grant.fence);
    if (!Attempt::is_vote(ballot, now)) continue;  // the server may have given later numbers since
    if (++votes[ballot.grant.fence] < quorum(words_.size())) continue;
    number_ = ballot.grant.fence;
    state_ = State::agreed;
  }
  if (state_ == State::pending) ask_commit(effects);
}

void FenceAgreement::learn(std::uint64_t number) {
  if (number <= most_) largest_ = std::max(largest_, number);
}

void FenceAgreement::ask_commit(Effects& effects) {
  if (++round_ > kMostRounds) {
    state_ = State::failed;
    return;
  }
  // Above the last round's number too: some server may have stored it without our hearing of it.
  number_ = std::max(largest_, number_) + 1;
  std::fill(words_.begin(), words_.end(), Word::none);
  for (ServerIndex server = 0; server < words_.size(); ++server) {
    effects.emplace_back(Ask{.server = server,
                             .op = Op::commit,
                             .attempt = attempt_,
                             .round = round_,
                             .fence = number_});
  }
}

void FenceAgreement::record(const Reply& reply, Effects& effects) {
  if (const auto* grant = std::get_if<Granted>(&reply.answer)) {
    learn(grant->fence);
  } else if (const auto* refusal = std::get_if<NotCommitted>(&reply.answer)) {
    learn(refusal->last);
  }
  if (reply.ask.op != Op::commit || reply.ask.round != round_ || state_ != State::pending) return;

  // A late yes after a time-out counts: it is of this round and its number was stored.
  const bool yes = std::holds_alternative<Committed>(reply.answer);
  words_.at(reply.ask.server) = yes ? Word::yes : Word::no;
  const auto count = [this](Word word) {
    return static_cast<std::size_t>(std::count(words_.begin(), words_.end(), word));
  };
  if (count(Word::yes) >= quorum(words_.size())) {
    state_ = State::agreed;
  } else if (count(Word::no) >= blocking_minority(words_.size())) {
    ask_commit(effects);
  }
}

}  // namespace redlock::lock
