// SPDX-License-Identifier: MIT
#include "lock/by_token.h"

namespace redlock::lock {

ByToken::ByToken(std::size_t servers, AttemptId attempt, const Terms& terms, Instant now)
    : terms_(terms),
      attempt_(attempt),
      voters_(servers),
      next_round_(now),
      limit_(now + terms.patience) {}

Effects ByToken::step(const Event& event, Instant now) {
  Effects effects;
  if (const auto* reply = std::get_if<Reply>(&event)) {
    record(*reply, now, effects);
  } else if (std::holds_alternative<Tick>(event)) {
    tick(now, effects);
  }
  return effects;
}

void ByToken::tick(Instant now, Effects& effects) {
  if (state_ == State::trying && now >= next_round_) ask_round(effects);
  // Every server is asked once, however short the patience is.
  if (state_ == State::trying && now >= limit_) decide(State::unavailable, now, Duration::zero());
  check_finished(now);
}

/// A server that has renewed is asked again: the oldest yes may be the next to expire.
void ByToken::ask_round(Effects& effects) {
  ++round_;
  next_round_ = kNever;
  for (ServerIndex server = 0; server < voters_.size(); ++server) {
    Voter& voter = voters_[server];
    if (voter.asked || voter.said == Said::no) continue;
    if (terms_.op == Op::leave && voter.said == Said::yes) continue;
    voter.asked = true;
    effects.emplace_back(Ask{.server = server,
                             .attempt = attempt_,
                             .round = round_,
                             .operation = terms_.op == Op::renew
                                              ? Operation(op::Renew{.life = terms_.timing.ttl})
                                              : Operation(op::Leave{})});
  }
}

void ByToken::record(const Reply& reply, Instant now, Effects& effects) {
  // Our caller may have asked for something else before, and that answer may come late.
  if (reply.ask.op() != terms_.op && reply.ask.op() != Op::repair) return;
  Voter& voter = voters_.at(reply.ask.server);
  voter.asked = false;
  take_answer(voter, reply);
  if (state_ == State::trying) settle(now);
  if (state_ == State::done && terms_.op == Op::renew) repair(effects);
  check_finished(now);
}

void ByToken::take_answer(Voter& voter, const Reply& reply) const {
  voter.last = reply.answer;
  const auto* const silence = std::get_if<Unreachable>(&reply.answer);
  voter.permanent = silence != nullptr && silence->permanent;
  if (silence != nullptr) {
    voter.failed_before = true;
    return;
  }
  const bool yes = std::holds_alternative<Renewed>(reply.answer) ||
                   std::holds_alternative<Granted>(reply.answer) ||
                   (terms_.op == Op::leave && std::holds_alternative<Released>(reply.answer));
  const bool maybe_before = terms_.op == Op::leave && voter.failed_before;
  voter.said = yes || maybe_before ? Said::yes : Said::no;
  voter.expires = voter.said == Said::yes ? vote_expiry(reply.sent, terms_.timing) : Instant{};
  if (std::holds_alternative<Renewed>(reply.answer)) voter.yes_round = reply.ask.round;
}

void ByToken::settle(Instant now) {
  const std::size_t servers = voters_.size();
  const bool held = terms_.op == Op::leave || valid_until() > now;
  if (saying(Said::yes) >= quorum(servers) && held) {
    decide(State::done, now, terms_.linger);
  } else if (saying(Said::no) >= blocking_minority(servers)) {
    decide(State::not_ours, now, terms_.linger);
  } else if (how_many(voters_, &Voter::permanent) >= blocking_minority(servers)) {
    decide(State::unavailable, now, terms_.linger);
  } else if (next_round_ == kNever && std::ranges::any_of(voters_, [](const Voter& voter) {
               return !voter.asked && std::holds_alternative<Unreachable>(voter.last);
             })) {
    next_round_ = now + std::chrono::milliseconds(100);
  }
}

/// A server that lost the key gets it back if a quorum has renewed in the present round. Answers of
/// several rounds prove nothing: the lock may have been deleted by force between them.
void ByToken::repair(Effects& effects) {
  if (how_many(voters_, round_, &Voter::yes_round) < quorum(voters_.size())) return;
  for (ServerIndex server = 0; server < voters_.size(); ++server) {
    Voter& voter = voters_[server];
    if (voter.repaired || !std::holds_alternative<Missing>(voter.last)) continue;
    voter.repaired = true;
    voter.asked = true;
    effects.emplace_back(Ask{.server = server,
                             .attempt = attempt_,
                             .round = round_,
                             .operation = op::Repair{.life = terms_.timing.ttl}});
  }
}

void ByToken::check_finished(Instant now) {
  if (state_ == State::trying) return;
  finished_ = now >= limit_ || std::ranges::none_of(voters_, &Voter::asked);
}

}  // namespace redlock::lock
