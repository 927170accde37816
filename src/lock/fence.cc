// SPDX-License-Identifier: MIT
#include "lock/fence.h"

#include <functional>
#include <map>

namespace redlock::lock {

namespace {

/// Each round learns from the last, so more rounds in vain mean that servers fail while we ask. A
/// round that another reader won is not in vain: readers that enter together get their numbers one
/// after the other, so there may be as many rounds as readers.
constexpr std::uint32_t kMostRounds = 5;
constexpr std::uint32_t kMostRoundsInAll = 500;

/// Numbers begin at a server's clock, in ms, and rise by one. A number that is so far ahead of the
/// clocks (317 years) does not come from a grant: somebody wrote it.
constexpr std::uint64_t kFarAhead = 10'000'000'000'000;

/// The largest number that may be committed: a minority of clocks cannot raise it.
std::uint64_t largest_plausible(const Attempt& won) {
  std::vector<std::uint64_t> clocks;
  clocks.reserve(won.votes().size());
  for (const Attempt::Vote& vote : won.votes()) {
    const bool granted = vote.state == Attempt::VoteState::granted;
    clocks.push_back(granted ? static_cast<std::uint64_t>(vote.grant.clock.count()) : 0);
  }
  std::sort(clocks.begin(), clocks.end(), std::greater<>());
  return clocks.at(quorum(clocks.size()) - 1) + kFarAhead;
}

}  // namespace

FenceAgreement::FenceAgreement(const Attempt& won, Instant now, Effects& effects)
    : attempt_(won.id()), most_(largest_plausible(won)), raised_(won.votes().size()) {
  std::map<std::uint64_t, std::size_t> votes;
  for (const Attempt::Vote& vote : won.votes()) {
    if (vote.state != Attempt::VoteState::granted || vote.grant.fence == 0) continue;
    learn(vote.grant.fence);
    if (!Attempt::counts(vote, now)) continue;  // the server may have given later numbers since
    if (++votes[vote.grant.fence] < quorum(raised_.size())) continue;
    number_ = vote.grant.fence;
    state_ = State::agreed;
  }
  if (state_ == State::pending) ask_commit(effects);
}

void FenceAgreement::ask_commit(Effects& effects) {
  const bool outbid = round_ > 0 && largest_ >= number_;
  rounds_in_vain_ += outbid ? 0 : 1;
  if (rounds_in_vain_ > kMostRounds || ++round_ > kMostRoundsInAll) {
    state_ = State::failed;
    return;
  }
  // Also above the number of the last round: a server may have stored it without our knowing.
  number_ = std::max(largest_, number_) + 1;
  std::fill(raised_.begin(), raised_.end(), Raised::unknown);
  for (ServerIndex server = 0; server < raised_.size(); ++server) {
    effects.emplace_back(Ask{.server = server,
                             .attempt = attempt_,
                             .round = round_,
                             .operation = op::Commit{.fence = number_}});
  }
}

void FenceAgreement::record(const Reply& reply, Effects& effects) {
  if (const auto* grant = std::get_if<Granted>(&reply.answer)) {
    learn(grant->fence);
  } else if (const auto* refusal = std::get_if<NotCommitted>(&reply.answer)) {
    learn(refusal->last);
  }
  if (reply.ask.op() != Op::commit || reply.ask.round != round_ || state_ != State::pending) return;

  // A late yes after a time-out counts: it belongs to this round, and the server stored the number.
  const bool yes = std::holds_alternative<Committed>(reply.answer);
  raised_.at(reply.ask.server) = yes ? Raised::yes : Raised::no;
  if (how_many(raised_, Raised::yes, std::identity()) >= quorum(raised_.size())) {
    state_ = State::agreed;
  } else if (how_many(raised_, Raised::no, std::identity()) >= blocking_minority(raised_.size())) {
    ask_commit(effects);
  }
}

}  // namespace redlock::lock
