// SPDX-License-Identifier: MIT
#include "lock/running_job.h"

#include <csignal>
#include <utility>

#include "lock/stages.h"

namespace redlock::lock {

namespace {

/// What a main process leaves mostly ends soon. Only after this long is it worth a message.
constexpr Duration kSilentEnd = std::chrono::seconds(1);

}  // namespace

Lease::Lease(const Attempt& won, const Timing& timing, Instant now)
    : timing_(timing),
      attempt_(won.id()),
      voters_(won.votes().size()),
      next_round_(now + timing.renew_every()),
      last_asked_(now),
      keep_until_(now) {
  for (ServerIndex server = 0; server < voters_.size(); ++server) {
    const Attempt::Vote& vote = won.votes()[server];
    Voter& voter = voters_[server];
    if (vote.state == Attempt::VoteState::granted) {
      voter.latest = Whose::mine;
      voter.expires = vote.expires;
      voter.run_id = vote.grant.run_id;
      voter.last = Granted{};
      // The oldest vote sets the pace, so that a slow acquire does not delay the first renewal.
      const Instant sent = vote.expires - timing.ttl + timing.drift();
      next_round_ = std::min(next_round_, sent + timing.renew_every());
      keep_until_ = std::min(keep_until_, sent);
    } else if (vote.state == Attempt::VoteState::refused) {
      voter.latest = Whose::elsewhere;
      voter.last = NotMine{vote.refusal.blocker};
    } else {
      voter.last = Unreachable{};
    }
  }
  keep_until_ += timing.min_hold;
  settle();
}

bool Lease::tick(Instant now, Effects& effects) {
  if (lost_) {
    next_round_ = hurried_ = kNever;
    return false;
  }
  const bool regular = now >= next_round_;
  if (now >= deadline()) ask_round(now, effects);
  return regular;
}

/// Rounds begin at least kPace apart: a flood of notices must not become a flood of requests.
void Lease::hurry(Instant now) {
  constexpr Duration kPace = std::chrono::milliseconds(100);
  hurried_ = std::min(hurried_, std::max(now, last_asked_ + kPace));
}

void Lease::ask_round(Instant now, Effects& effects) {
  ++round_;
  last_asked_ = now;
  next_round_ = now + timing_.renew_every();
  hurried_ = kNever;
  for (ServerIndex server = 0; server < voters_.size(); ++server) {
    ask(server, op::Renew{life_from(now)}, effects);
  }
}

/// The key gets the rest of the minimum hold if that is longer than the ttl, so that not even a
/// KILL of redlock itself ends the minimum hold early.
Duration Lease::life_from(Instant now) const {
  return std::max(timing_.ttl, keep_until_ - now);
}

void Lease::ask(ServerIndex server, Operation operation, Effects& effects) const {
  effects.emplace_back(Ask{server, attempt_, round_, std::move(operation)});
}

Instant Lease::gone_by() const {
  const Instant lease_over = last_asked_ + timing_.ttl + timing_.drift();
  if (timing_.min_hold == Duration::zero()) return lease_over;
  return std::max(lease_over, keep_until_ + timing_.drift(timing_.min_hold));
}

void Lease::record(const Reply& reply, Instant now, Effects& effects) {
  Voter& voter = voters_.at(reply.ask.server);
  voter.last = reply.answer;
  unmask_twin(reply.ask.server, reply, effects);
  if (!voter.twin) take_answer(voter, reply);
  settle();
  if (reply.ask.op() == Op::renew) count_round(reply, now);
  const auto* renewed = std::get_if<Renewed>(&reply.answer);
  const auto* asked = reply.ask.as<op::Renew>();
  if (!lost_ && renewed != nullptr && renewed->longer && asked != nullptr && !asked->cuts) {
    ask(reply.ask.server, op::Renew{life_from(now), true}, effects);
  }
  voter.wants_repair = std::holds_alternative<Missing>(reply.answer) && !voter.twin;
  repair(now, effects);
}

/// A server that lost the key (it restarted empty, say) gets it back when a quorum of the others
/// has renewed in the present round. Answers of earlier rounds prove nothing: since then the lock
/// may have been deleted by force, on one server after the other.
void Lease::repair(Instant now, Effects& effects) {
  if (lost_ || !quorum_renewed(now)) return;
  for (ServerIndex server = 0; server < voters_.size(); ++server) {
    if (!std::exchange(voters_[server].wants_repair, false)) continue;
    ask(server, op::Repair{life_from(now)}, effects);
  }
}

/// A vote after the win may show that two configured servers are one: the later one has no vote.
void Lease::unmask_twin(ServerIndex server, const Reply& reply, Effects& effects) {
  const auto* grant = std::get_if<Granted>(&reply.answer);
  Voter& voter = voters_[server];
  if (grant == nullptr || grant->run_id.empty() || voter.twin) return;
  for (ServerIndex other = 0; other < voters_.size(); ++other) {
    if (other == server || voters_[other].run_id != grant->run_id) continue;
    voter.twin = true;
    effects.emplace_back(report::SameServer{other, server});
    return;
  }
  voter.run_id = grant->run_id;
}

void Lease::take_answer(Voter& voter, const Reply& reply) {
  const bool granted = std::holds_alternative<Granted>(reply.answer);
  if (granted && reply.ask.op() == Op::repair) {
    // The key is there again, so the lease may count on this server. But it was gone for a while:
    // the server is a witness that we hold the lock only from its next renewal on.
    voter.latest = Whose::none;
    voter.expires = vote_expiry(reply.sent, timing_);
  } else if (granted || std::holds_alternative<Renewed>(reply.answer)) {
    voter.latest = Whose::mine;
    voter.expires = std::max(voter.expires, vote_expiry(reply.sent, timing_));
  } else if (!std::holds_alternative<Unreachable>(reply.answer)) {
    voter.latest = Whose::elsewhere;
    // The server keeps a revoked lock for us, so that there is time to stop the job.
    const auto* not_mine = std::get_if<NotMine>(&reply.answer);
    if (not_mine == nullptr || !not_mine->revoked) voter.expires = Instant{};
  }
}

void Lease::settle() {
  const Instant before = valid_until_;
  valid_until_ = quorum_expiry(voters_, &Voter::expires);
  const std::size_t elsewhere = how_many(voters_, Whose::elsewhere, &Voter::latest);
  if (!lost_ && elsewhere >= blocking_minority(voters_.size())) {
    lost_ = true;
    valid_until_before_loss_ = before;
  }
}

void Lease::count_round(const Reply& reply, Instant now) {
  if (reply.ask.round != round_) return;  // a late answer: it counts, but its round is over
  Voter& voter = voters_[reply.ask.server];
  const bool renewed = std::holds_alternative<Renewed>(reply.answer);
  if (renewed) voter.renewed_round = round_;
  if (std::exchange(voter.answered_round, round_) == round_ && !renewed) return;

  if (how_many(voters_, round_, &Voter::renewed_round) >= quorum(voters_.size())) {
    failing_ = false;
    next_round_ = std::max(next_round_, reply.sent + timing_.renew_every());
  } else if (how_many(voters_, round_, &Voter::answered_round) == voters_.size()) {
    failing_ = true;
    next_round_ = std::min(next_round_, now + timing_.retry_every());
  }
}

bool Lease::quorum_renewed(Instant now) const {
  const std::size_t renewed = how_many(voters_, [this, now](const Voter& voter) {
    return round_ > 0 && voter.renewed_round == round_ && voter.latest == Whose::mine &&
           voter.expires > now && !voter.twin;
  });
  return renewed >= quorum(voters_.size());
}

bool Lease::being_revoked() const {
  return std::ranges::any_of(voters_, [](const Voter& voter) {
    const auto* not_mine = std::get_if<NotMine>(&voter.last);
    return not_mine != nullptr && not_mine->revoked;
  });
}

std::vector<Complaint> Lease::complaints() const {
  return complaints_unless(voters_, [](const Voter& each) {
    return std::holds_alternative<Granted>(each.last) || std::holds_alternative<Renewed>(each.last);
  });
}

void RunningJob::check(Instant now, Effects& effects) {
  if (!stopping()) tell_outage(now, effects);

  if (lease_.lost()) {
    if (stop_reason_ != StopReason::lost) stop(StopReason::lost, now, effects);
  } else if (!stopping() && now >= term_at()) {
    stop(StopReason::lease_ending, now, effects);
  } else if (!stopping() && now >= runtime_end()) {
    stop(StopReason::max_runtime, now, effects);
  }
}

/// Reports the beginning and the end of an outage once each. A revocation reaches one server after
/// the other, and soon the lock is lost: only a revocation that got stuck is worth a warning.
void RunningJob::tell_outage(Instant now, Effects& effects) {
  constexpr Duration kRevoking = std::chrono::seconds(1);  // it has reached all servers, or failed
  if (!lease_.failing()) {
    if (outage_reported_) effects.emplace_back(report::RenewalRecovered{});
    outage_since_ = kNever;
    outage_reported_ = false;
    return;
  }
  outage_since_ = std::min(outage_since_, now);
  const bool due = !lease_.being_revoked() || now - outage_since_ >= kRevoking;
  if (outage_reported_ || lease_.lost() || !due) return;
  effects.emplace_back(report::RenewalFailing{lease_.complaints(), term_at() - now});
  outage_reported_ = true;
}

void RunningJob::tick(Instant now, Effects& effects) {
  order_measure(now, effects);
  check(now, effects);
  if (stop_began_) kill_if_due(now, effects);
  if (ending() && now >= *say_ending_at_) {
    effects.emplace_back(TellEnding{std::max(kill_due() - now, Duration::zero())});
    say_ending_at_ = kNever;
  }
}

void RunningJob::stop(StopReason reason, Instant now, Effects& effects) {
  stop_reason_ = reason;
  effects.emplace_back(report::Stopping{
      reason, reason == StopReason::max_runtime ? std::vector<Complaint>{} : lease_.complaints(),
      now >= lease_.end()});
  if (!stop_began_) begin_to_stop(now, effects);
}

/// A next stage that was killed ends its job by itself, and then needs time to release its lock.
void RunningJob::main_process_ended(JobEnd end, Instant now, Effects& effects) {
  const bool unwinds = std::exchange(next_stage_, false);
  if (!stopping() && (end == JobEnd::by_itself || plan_.wait_all)) return;
  say_ending_at_ = now + kSilentEnd;
  if (stop_began_) return;
  stop_began_ = unwinds ? now + kLongestUnwinding : now;
  if (end == JobEnd::killed && !unwinds) effects.emplace_back(Kill{plan_.stop_signal});
}

/// If KILL is due already, no softer signal goes before it: after a suspend, CONT would let a
/// stopped job run although the lease is over.
void RunningJob::begin_to_stop(Instant now, Effects& effects) {
  stop_began_ = now;
  grace_over_ = plan_.stop_signal == SIGKILL ||
                (stop_reason_ == StopReason::supervisor_gone && plan_.stages.earlier);
  if (now < kill_due()) {
    effects.emplace_back(Kill{plan_.stop_signal});
  } else {
    kill_if_due(now, effects);
  }
  // After the first signal, which must not wait for the measurement.
  if (!measured_ && now < kill_due()) effects.emplace_back(Measure{});
  measured_ = true;
}

void RunningJob::kill_if_due(Instant now, Effects& effects) {
  if (now < kill_due()) return;
  // The next stage gets the first KILL alone only if the KILL for everybody still comes in time.
  unwinding_ = next_stage_ && last_kill_ == kNever &&
               now + kKillAgain < timing_.kill_at(lease_.end(), head_start_);
  effects.emplace_back(Kill{SIGKILL, unwinding_ ? Kill::Whom::next_stage : Kill::Whom::everybody});
  last_kill_ = now;
}

/// The first KILL comes one grace after TERM, but always early enough before the lease ends.
Instant RunningJob::kill_due() const {
  const Instant latest = timing_.kill_at(lease_.end(), head_start_);
  if (unwinding_) return std::min(last_kill_ + kLongestUnwinding, latest);
  if (last_kill_ != kNever) return last_kill_ + pause_;
  return std::min(*stop_began_ + (grace_over_ ? Duration::zero() : timing_.grace), latest);
}

void RunningJob::end_unsupervised(bool ordered, Instant now, Effects& effects) {
  if (stop_began_) {
    if (!plan_.stages.earlier) return;
    grace_over_ = true;
    return tick(now, effects);
  }
  if (!ordered || !plan_.stages.earlier) return stop(StopReason::supervisor_gone, now, effects);
  stop_reason_ = StopReason::supervisor_gone;
  begin_to_stop(now, effects);
}

void RunningJob::order_measure(Instant now, Effects& effects) {
  const bool overdue = now >= measure_at();
  if (!stopping() && overdue && !measured_) effects.emplace_back(Measure{});
  if (!stopping() && !overdue) head_start_ = Duration::zero();
  measured_ = overdue || stopping();
}

void RunningJob::take_kill_cost(Duration length, Instant now, Effects& effects) {
  head_start_ = std::min(length, timing_.longest_head_start());
  check(now, effects);
}

Instant RunningJob::deadline() const {
  const Instant kill = std::min(stop_began_ ? kill_due() : kNever, say_ending_at_.value_or(kNever));
  if (stopping()) return kill;
  return std::min({kill, term_at(), runtime_end(), measured_ ? kNever : measure_at()});
}

/// What a main process has left has its own limit.
Instant RunningJob::runtime_end() const {
  return plan_.max_runtime && !ending() ? moment_after(began_, *plan_.max_runtime) : kNever;
}

WorkerState RunningJob::worker_state() const {
  using Phase = WorkerState::Phase;
  const Phase phase = !stop_began_ ? Phase::running : stopping() ? Phase::stopping : Phase::ending;
  return {phase,        stop_began_ ? kill_due() : term_at(),
          lease_.end(), head_start_,
          stop_reason_, lease_.gone_by()};
}

}  // namespace redlock::lock
