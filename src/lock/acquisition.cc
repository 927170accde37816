// SPDX-License-Identifier: MIT
#include "lock/acquisition.h"

#include <variant>

#include "lock/value.h"

namespace redlock::lock {

using std::chrono::milliseconds;
using std::chrono::seconds;
using When = report::Contended::When;
using report::QuorumMissing;

namespace {

/// We ask once more this long before the wait limit.
constexpr Duration kLastQuestion = milliseconds(50);

/// When the reports that too few servers answer are due: see QuorumMissing::When. If the wait ends
/// less than kWorthTelling later, the end says the same.
constexpr Duration kMissingSoon = seconds(1);
constexpr Duration kMissingLong = seconds(10);
constexpr Duration kWorthTelling = milliseconds(1500);

/// The shortest time between two reports that yet another process holds the lock.
constexpr Duration kTellAgain = seconds(10);

Instant limit_of(const Patience& patience, Instant start) {
  if (!patience.wait) return kNever;
  if (*patience.wait == Duration::zero()) {
    return start + std::min(patience.server_wait, kTryOnceBears);
  }
  return moment_after(start, *patience.wait);
}

}  // namespace

Acquisition::Acquisition(const Plan& plan, Instant now)
    : plan_(plan),
      timing_(plan.timing),
      replacement_(plan.replaces, plan.servers),
      pauses_(plan.patience, plan.seed),
      obstacles_(plan.servers),
      slot_choice_(plan.slots, plan.seed),
      attempt_(plan.inherited ? kFirstJoin : 1, plan.servers, slot_choice_.slot()),
      waiter_(plan.servers),
      began_(now),
      round_began_(now),
      next_round_(now),
      limit_(limit_of(plan.patience, now)),
      short_since_(now),
      missing_(Missing{now}),
      troubles_(plan.servers) {}

Instant Acquisition::server_limit() const {
  // However short the limit is, every server is asked once for its vote, and once more after a win,
  // if the number is to be committed. Connecting has a limit of its own.
  if (!finished_a_round_ || !short_since_) return kNever;
  const Duration least = state_ == State::won ? plan_.server_timeout : Duration::zero();
  return *short_since_ + std::max(plan_.patience.server_wait, least);
}

/// The limit of -w is exact. That of -n, "once", does not apply before one round has ended.
Instant Acquisition::wait_limit() const {
  return tries_once() && !finished_a_round_ ? kNever : limit_;
}

/// When to ask next: after the pause, or after a wake-up. A wake-up during a round is for the
/// servers that have refused: the release reaches the servers one after another, and the other
/// votes of this round may wait for a server that is silent.
Instant Acquisition::next_question() const {
  if (state_ != State::trying) return kNever;
  if (!in_round_) return std::min(next_round_, ask_again_);
  return attempt_.refused() > 0 ? ask_again_ : kNever;
}

void Acquisition::tick(Instant now, Effects& effects) {
  if (now >= wait_limit() || now >= server_limit()) {
    give_up(answered_last_round_ ? State::conflict : State::unavailable, effects);
    return;
  }
  if (now >= quorum_news()) {
    const auto when =
        missing_->reports++ == 0 ? QuorumMissing::When::soon : QuorumMissing::When::lasting;
    const Instant limit = std::min(wait_limit(), server_limit());
    effects.emplace_back(QuorumMissing{complaints(), answering(), when, limit - now});
  }
  if (now < next_question()) return;
  woken_rounds_ = in_round_ || now < next_round_ ? woken_rounds_ + 1 : 0;
  in_round_ = true;
  ask_again_ = kNever;
  round_began_ = now;
  // Both use the same connections: a release that failed before arrives before the new request.
  release_.retry(now, effects);
  asked_ = obstacles_.to_ask();
  ask(effects);
}

/// When the next report that too few servers answer is due.
Instant Acquisition::quorum_news() const {
  if (!finished_a_round_ || state_ != State::trying) return kNever;
  if (!missing_ || missing_->reports > 1) return kNever;
  const Instant news = missing_->since + (missing_->reports == 0 ? kMissingSoon : kMissingLong);
  return std::min(wait_limit(), server_limit()) - kWorthTelling < news ? kNever : news;
}

std::size_t Acquisition::answering() const {
  return how_many(troubles_, [](const auto& trouble) { return !trouble; });
}

Waiting Acquisition::waiting() const {
  return {.refusal = split_ ? std::nullopt : last_refusal_,
          .refused_at = refused_at_,
          .asked = finished_a_round_,
          .lacks_quorum = finished_a_round_ && missing_.has_value(),
          .obstructed = obstacles_.prevail() && !short_since_,
          .distrusted = how_many(troubles_,
                                 [](const auto& trouble) {
                                   return trouble && std::holds_alternative<Granted>(*trouble);
                                 }) > 0,
          .answering = answering(),
          .servers = troubles_.size(),
          .place = waiter_.place(),
          .length = waiter_.length()};
}

/// The requests of this round may have been too early to find the lock free: we ask once more.
void Acquisition::wake(Duration in, Instant now) {
  if (state_ != State::trying) return;
  const Instant earliest = round_began_ + between_woken_rounds(woken_rounds_);
  ask_again_ =
      std::min(ask_again_, in > Duration::zero() ? moment_after(now, in) : std::max(now, earliest));
}

/// The servers wake the next waiter when we leave the queue, so our votes go back before.
void Acquisition::settle(Effects& effects, bool has_lock) {
  for (const auto& [server, attempt] : std::exchange(unanswered_, {})) {
    release_.begin(server, attempt, effects);
  }
  waiter_.leave(effects, has_lock);
}

bool Acquisition::gave_back(Whom whom) const {
  for (ServerIndex server = 0; server < troubles_.size(); ++server) {
    const bool silent =
        troubles_[server] && std::holds_alternative<Unreachable>(*troubles_[server]);
    if (waiter_.is_leaving(server) && !silent) return false;
    if (release_.owes(server) && !(silent && whom != Whom::all)) return false;
  }
  return true;
}

void Acquisition::ask(Effects& effects) {
  for (const Ask& each : attempt_.begin_round(++round_, waiter_.ticket(), timing_, asked_)) {
    effects.emplace_back(each);
  }
}

void Acquisition::record(const Reply& reply, Instant now, Effects& effects) {
  if (is_release(reply.ask.op())) return release_.record(reply);
  if (reply.ask.op() == Op::revoke) return replacement_.record(reply, attempt_.id(), effects);
  if (reply.ask.op() != Op::acquire && reply.ask.op() != Op::commit) return;
  const bool failed = std::holds_alternative<Unreachable>(reply.answer) ||
                      std::holds_alternative<NotCommitted>(reply.answer);
  troubles_.at(reply.ask.server) = failed ? std::optional(reply.answer) : std::nullopt;
  if (reply.ask.op() == Op::commit) return;
  if (reply.ask.attempt != attempt_.id()) return record_late(reply, effects);

  attempt_.record(reply, timing_);
  if (const auto* newer = std::get_if<Superseded>(&reply.answer)) superseded_ = *newer;
  if (!in_round_) return;
  if (obstacles_.prevail()) {
    take_probe(now, effects);
    if (obstacles_.prevail()) return;
  }
  if (const Refused* refusal = attempt_.main_refusal()) {
    last_refusal_ = *refusal;
    refused_at_ = now;
  }
  const Verdict verdict = attempt_.verdict(now, timing_);
  if (verdict != Verdict::pending) finish_round(verdict, now, effects);
}

/// A vote of an attempt that ended in vain. Unless the server refused, we must release it. The
/// release may be on its way already.
void Acquisition::record_late(const Reply& reply, Effects& effects) {
  const auto late = std::ranges::find(unanswered_, std::pair(reply.ask.server, reply.ask.attempt));
  if (late == unanswered_.end()) return;
  unanswered_.erase(late);
  const auto* unreachable = std::get_if<Unreachable>(&reply.answer);
  const bool may_hold = unreachable != nullptr ? unreachable->maybe_applied
                                               : std::holds_alternative<Granted>(reply.answer);
  if (may_hold) release_.begin(reply.ask.server, reply.ask.attempt, effects);
}

/// An answer of an obstacle. Once a quorum is possible again, the attempt asks the others, too.
void Acquisition::take_probe(Instant now, Effects& effects) {
  obstacles_.note_probe(attempt_);
  note_useless();
  if (!obstacles_.prevail()) {
    asked_.flip();
    return ask(effects);
  }
  if (!attempt_.all_reported()) return;
  in_round_ = false;
  if (attempt_.done()) return give_up(State::done, effects);
  if (is_hopeless()) return give_up(State::unavailable, effects);
  if (tries_once() && refusals_last(now)) {
    split_ = false;
    return give_up(State::conflict, effects);
  }
  end_attempt(effects);
  rest(now, pauses_.after_silence());
}

void Acquisition::finish_round(Verdict verdict, Instant now, Effects& effects) {
  in_round_ = false;
  finished_a_round_ = true;
  if (verdict == Verdict::won) {
    state_ = State::won;
    answered_last_round_ = false;  // from here to the start of the job only servers can fail
    return;
  }
  if (verdict == Verdict::same_server) return reject_twins(effects);
  if (attempt_.join_refused()) {
    // The ancestor does not hold the lock any more: we ask for it as for any other lock.
    join_or_not(effects);
    next_round_ = now;
    return;
  }
  if (verdict == Verdict::done) return give_up(State::done, effects);
  if (verdict == Verdict::split && refusals_last(now)) verdict = Verdict::conflict;
  if (verdict == Verdict::conflict || verdict == Verdict::split) {
    const SlotChoice::Next next = slot_choice_.choose(attempt_);
    if (next == SlotChoice::Next::split) verdict = Verdict::split;
    if (next == SlotChoice::Next::elsewhere) {
      end_attempt(effects);
      next_round_ = now;
      return;
    }
  }
  // A server that cannot be trusted yet counts like a server that does not answer.
  answered_last_round_ = verdict == Verdict::conflict || verdict == Verdict::split;
  // The turn of a waiter before us that cannot share the lock is no news once that waiter was
  // named.
  const bool of_that_waiter = last_refusal_ && last_refusal_->waits_before && attempt_.turns_left();
  split_ = verdict == Verdict::split && !of_that_waiter;
  if (answered_last_round_) {
    short_since_.reset();
  } else if (!short_since_) {
    short_since_ = round_began_;
  }
  obstacles_.note_round(attempt_, verdict == Verdict::unavailable);
  note_useless();
  if (!short_since_ && !obstacles_.prevail()) {
    missing_.reset();
  } else if (!missing_) {
    missing_ = Missing{round_began_};
  }

  if (verdict == Verdict::conflict && held_by_ancestor()) {
    // It has put the lock back. Whoever waits for its own ancestor waits for ever.
    join_or_not(effects);
    return rest(now, pauses_.after_dropped_win());
  }
  if (verdict == Verdict::unavailable && is_hopeless()) {
    return give_up(State::unavailable, effects);
  }
  if (verdict == Verdict::conflict && (tries_once() || is_crowded())) {
    return give_up(State::conflict, effects);
  }

  const bool obstructed = obstacles_.prevail();
  if (verdict == Verdict::conflict && !obstructed) tell_contended(now, effects);
  if (verdict == Verdict::conflict) replacement_.begin(attempt_, effects);
  if (tries_once() && attempt_.turns_left()) {
    limit_ = std::max(limit_, std::min(now + kTryOnceBears, began_ + kTryOnceBearsTurns));
  }
  const Attempt ended = attempt_;
  end_attempt(effects);
  if (!tries_once()) waiter_.round_ended(ended, !obstructed, effects);
  if (obstructed || !answered_last_round_) return rest(now, pauses_.after_silence());
  rest(now, verdict == Verdict::conflict ? pauses_.after_conflict(ended, waiter_)
                                         : pauses_.after_split(ended, waiter_, now - round_began_));
}

/// A revocation is news, and so are a maintenance hold, also with the token of the run that failed
/// before it, and the next holder after a revocation. Any other new holder is reported only
/// now and then: a lock that many processes want has a new holder all the time.
void Acquisition::tell_contended(Instant now, Effects& effects) {
  const Value value = read_value(last_refusal_ ? last_refusal_->blocker : std::string_view());
  const bool same = announced_ && announced_->token == value.token;
  const bool revoked = value.kind == Value::Kind::revoked && !(same && announced_->revoked);
  const bool hold = last_refusal_ && last_refusal_->maintenance;
  const bool held_on = hold && !(same && announced_->maintenance);
  const bool too_soon = announced_ && !announced_->revoked && now - announced_->at < kTellAgain;
  if (announced_ && !revoked && !held_on && (same || too_soon)) return;
  const When when = announced_ ? When::changes : When::begins;
  announced_ = {std::string(value.token), value.kind == Value::Kind::revoked, hold, now};
  effects.emplace_back(report::Contended{last_refusal_, when, now - began_});
}

/// A server that answers may be of no use all the same: it has restarted too recently to be
/// trusted, or it keeps the lock for somebody who has it on no quorum.
void Acquisition::note_useless() {
  for (ServerIndex server = 0; server < troubles_.size(); ++server) {
    const Attempt::Vote& vote = attempt_.votes()[server];
    if (vote.state == Attempt::VoteState::granted) {
      if (vote.grant.distrusted_for > seconds::zero()) troubles_[server] = vote.grant;
    } else if (vote.state == Attempt::VoteState::refused && obstacles_.contains(server)) {
      troubles_[server] = vote.refusal;
    }
  }
}

void Acquisition::rest(Instant now, Duration pause) {
  next_round_ = now + pause;
  const Instant last_question = limit_ == kNever ? kNever : limit_ - kLastQuestion;
  if (now < last_question) next_round_ = std::min(next_round_, last_question);
}

/// If so, the lock is held: a contender in vain keeps its votes for one round, and that takes a
/// server time-out if a server is silent. But as long as a server refuses for a turn, it may be
/// free.
bool Acquisition::refusals_last(Instant now) {
  std::vector<std::string> refusals(attempt_.votes().size());
  bool turns = false;
  for (ServerIndex server = 0; server < refusals.size(); ++server) {
    const Attempt::Vote& vote = attempt_.votes()[server];
    if (vote.state != Attempt::VoteState::refused) continue;
    turns = turns || vote.refusal.turn;
    refusals[server] = vote.refusal.blocker;
  }
  if (refusals != last_refusals_) refused_since_ = now;
  last_refusals_ = std::move(refusals);
  return !turns && now - refused_since_ > plan_.server_timeout &&
         attempt_.refused() >= blocking_minority(last_refusals_.size());
}

/// Releases the token wherever the attempt may have left it; where an answer is still to come, that
/// shows whether there is anything to release. A token is for one slot.
void Acquisition::end_attempt(Effects& effects) {
  const std::vector<ServerIndex> entered = attempt_.entered();
  if (entered.empty() && attempt_.slot() == slot_choice_.slot()) return;
  for (const ServerIndex server : entered) {
    if (attempt_.votes()[server].state == Attempt::VoteState::asked) {
      unanswered_.emplace_back(server, attempt_.id());
    } else {
      release_.begin(server, attempt_.id(), effects);
    }
  }
  attempt_ = next_attempt(attempt_.id() + 1);
}

/// From now on our attempts are of the other kind: they join the lock of an ancestor, or do not.
/// The numbers of both kinds rise together.
void Acquisition::join_or_not(Effects& effects) {
  const AttemptId number = attempt_.id() % kFirstJoin + 1;
  const bool joins = !is_join(attempt_.id());
  end_attempt(effects);
  attempt_ = next_attempt(joins ? kFirstJoin + number : number);
}

bool Acquisition::held_by_ancestor() const {
  if (!plan_.inherited) return false;
  const std::size_t votes = how_many(attempt_.votes(), [this](const Attempt::Vote& vote) {
    return vote.state == Attempt::VoteState::refused &&
           vote.refusal.blocker == plan_.inherited->token && !vote.refusal.maintenance;
  });
  return votes >= quorum(plan_.servers);
}

/// Of several newcomers at the same time, none knows of the others before it stands in the queue.
/// Once we know our place there we stay, also if a waiter that was stopped comes back before us.
bool Acquisition::is_crowded() {
  const std::size_t most = plan_.patience.max_waiting;
  if (most == 0 || waiter_.place() > 0) return false;
  const std::size_t before = attempt_.waiters_before();
  if (before >= most) crowd_ = before;
  return crowd_ > 0;
}

void Acquisition::give_up(State why, Effects& effects) {
  if (attempt_.done() && why != State::misconfigured) why = State::done;
  state_ = why;
  in_round_ = false;
  if (why == State::conflict) {
    const Duration waited = plan_.patience.wait.value_or(Duration::zero());
    const auto obstacles = waiting().obstructed ? complaints() : std::vector<Complaint>();
    effects.emplace_back(report::Contended{waiting().refusal, When::gives_up, waited, obstacles,
                                           crowd_, waiter_.place()});
  }
  for (ServerIndex server = 0; server < troubles_.size(); ++server) {
    // If there is an earlier answer, that says more.
    const bool asked = attempt_.votes()[server].state == Attempt::VoteState::asked;
    if (asked && !troubles_[server]) troubles_[server] = Unreachable{};
  }
  withdraw(effects);
}

bool Acquisition::confirm_win(Instant now, Effects& effects) {
  if (attempt_.same_server()) {
    reject_twins(effects);
  } else if (attempt_.done()) {
    give_up(State::done, effects);
  } else if (attempt_.valid_until() - now < timing_.needed_to_start()) {
    abandon_win(now, effects);
  }
  return state_ == State::won;
}

/// A quorum of servers answered, so the time without a quorum is over.
void Acquisition::abandon_win(Instant now, Effects& effects) {
  short_since_.reset();
  missing_.reset();
  try_again(now, effects);
}

void Acquisition::abandon_unnumbered(Instant now, Effects& effects) {
  short_since_ = short_since_.value_or(round_began_);
  missing_ = missing_.value_or(Missing{round_began_});
  try_again(now, effects);
}

void Acquisition::try_again(Instant now, Effects& effects) {
  state_ = State::trying;
  end_attempt(effects);
  rest(now, pauses_.after_dropped_win());
}

void Acquisition::reject_twins(Effects& effects) {
  const auto [first, second] = *attempt_.same_server();
  effects.emplace_back(report::SameServer{first, second});
  give_up(State::misconfigured, effects);
}

std::vector<Complaint> Acquisition::complaints() const {
  std::vector<Complaint> complaints;
  for (ServerIndex server = 0; server < troubles_.size(); ++server) {
    if (troubles_[server]) complaints.push_back({server, *troubles_[server]});
  }
  return complaints;
}

}  // namespace redlock::lock
