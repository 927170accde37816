// SPDX-License-Identifier: MIT
#include "lock/session.h"

namespace redlock::lock {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

/// How long we wait for the release of a held lock to be confirmed; less if the lease ends sooner.
constexpr Duration kReleasePatience = seconds(2);
constexpr Duration kReleaseRetry = milliseconds(100);

/// A wait limit is exact. So at its end the servers get only this time to confirm that they hold
/// nothing of ours any more. A slower server has the release in its queue all the same.
constexpr Duration kLastAnswers = milliseconds(200);

/// For how long a key that is left behind must live to be worth a warning. Such a server gets the
/// time of a request to confirm the release.
constexpr Duration kLongLife = minutes(2);

/// How long the servers know the number of the last successful build.
constexpr Duration kBuildLasts = std::chrono::hours(30 * 24);

/// A job that ends sooner needs no subscription, and so costs no extra connections. And it is one
/// line in the log, which goes out with the release and so costs no extra message.
constexpr Duration kShortRun = milliseconds(500);

}  // namespace

Session::Session(const Plan& plan, Instant now)
    : plan_(plan), now_(now), began_(now), acquisition_(plan, now), done_marks_(plan.servers) {}

Effects Session::step(const Event& event, Instant now) {
  now_ = now;
  if (acquiring()) acquisition_.set_timing(plan_.timing.at(now_));
  std::visit(Overloaded{
                 [this](const Tick&) { on_tick(); },
                 [this](const Reply& reply) { on_reply(reply); },
                 [this](const JobStarted&) { on_job_started(); },
                 [this](const JobTooLate&) {
                   job_.reset();
                   phase_ = Phase::acquiring;
                   acquisition_.abandon_win(now_, effects_);
                 },
                 [this](const JobFailedToStart& failure) {
                   outcome_ = {Outcome::Kind::not_started, failure.status};
                   acquisition_.settle(effects_, false);
                   release_lease();
                 },
                 [this](const JobExited& exit) { on_job_exited(exit); },
                 [this](const JobTreeGone&) {
                   if (job_gone_ && watching_tree()) release_lease();
                 },
                 [this](const Killed& kill) {
                   if (job_) job_->killed(kill.found_new);
                 },
                 [this](const KillCost& cost) {
                   if (phase_ == Phase::running) job_->take_kill_cost(cost.length, now_, effects_);
                 },
                 [this](const Signal& signal) { on_signal(signal); },
                 [this](const SupervisorGone& gone) {
                   if (phase_ == Phase::running) {
                     job_->end_unsupervised(gone.ordered, now_, effects_);
                   }
                 },
                 [this](const Notice&) { on_notice(); },
                 [this](const Woken& woken) {
                   if (phase_ == Phase::acquiring) acquisition_.wake(woken.in, now_);
                 },
                 [this](const Subscribed& subscribed) {
                   if (acquiring()) acquisition_.hear(subscribed.server, now_);
                 },
             },
             event);
  return std::exchange(effects_, {});
}

Instant Session::deadline() const {
  switch (phase_) {
    case Phase::acquiring:
    case Phase::numbering:
      return acquisition_.deadline();
    case Phase::starting:
      return kNever;
    case Phase::running:
      return std::min(
          {lease().deadline(), job_->deadline(), job_->stopping() ? kNever : listen_at_});
    case Phase::releasing:
      return std::min(release_limit_, release_retry_);
    case Phase::finished:
      return now_;
  }
  return kNever;
}

void Session::on_tick() {
  switch (phase_) {
    case Phase::acquiring:
    case Phase::numbering:
      acquisition_.tick(now_, effects_);
      return check_acquisition();
    case Phase::running:
      // Safety first: decide whether the job may still run, then send requests.
      job_->tick(now_, effects_);
      return tick_lease();
    case Phase::releasing:
      return tick_releasing();
    case Phase::starting:
    case Phase::finished:
      return;
  }
}

/// Subscribes once the job has run for a while, and with each renewal where a subscription ended.
void Session::tick_lease() {
  const bool regular = job_->lease().tick(now_, effects_);
  const bool begins = now_ >= listen_at_;
  const bool listens = listen_at_ == kNever;
  if (job_->stopping() || !(begins || (listens && regular))) return;
  if (begins) log(Log::Event::acquired);
  listen_at_ = kNever;
  effects_.emplace_back(Subscribe{lease().attempt()});
}

void Session::on_notice() {
  if (phase_ != Phase::running) return;
  job_->lease().hurry(now_);
  job_->lease().tick(now_, effects_);
}

void Session::on_reply(const Reply& reply) {
  if (phase_ == Phase::finished) return;
  done_marks_.record(reply, now_);
  const Op op = reply.ask.op();
  if (op == Op::leave_queue) acquisition_.record_left(reply);
  if (op == Op::leave_queue || op == Op::mark || op == Op::unmark) {
    if (phase_ == Phase::releasing) check_release();
    return;
  }
  if (acquiring()) {
    acquisition_.record(reply, now_, effects_);
    if (phase_ == Phase::acquiring) return check_acquisition();
    if (reply.ask.attempt == acquisition_.attempt().id()) fence_->record(reply, effects_);
    return check_fence();
  }
  if (is_release(op)) {
    acquisition_.release().record(reply);
    if (phase_ == Phase::releasing) check_release();
    return;
  }
  if (op == Op::commit) return;  // late; the number is settled
  // Once the release is on its way, a late answer must not bring the lock back by a repair.
  if (phase_ == Phase::releasing || reply.ask.attempt != lease().attempt()) return;
  job_->lease().record(reply, now_, effects_);
  if (phase_ == Phase::running) job_->check(now_, effects_);
}

void Session::check_acquisition() {
  switch (acquisition_.state()) {
    case Acquisition::State::trying:
      return;
    case Acquisition::State::done: {
      const auto& newer = superseded();
      if (newer) emit(report::Superseded{*newer, plan_.build.value_or(0), now_ - began_});
      if (!newer) emit(report::Skipped{*done_marks_.found()});
      effects_.emplace_back(Log{.event = newer ? Log::Event::superseded : Log::Event::skipped,
                                .attempt = acquisition_.attempt().id(),
                                .waited = now_ - began_});
      done_marks_.copy(now_, effects_);
      return end_without_job({newer ? Outcome::Kind::superseded : Outcome::Kind::done});
    }
    case Acquisition::State::conflict:
      return end_without_job({Outcome::Kind::conflict});
    case Acquisition::State::unavailable:
      emit(report::Unavailable{acquisition_.complaints()});
      return end_without_job({Outcome::Kind::unavailable});
    case Acquisition::State::misconfigured:
      return end_without_job({Outcome::Kind::misconfigured});
    case Acquisition::State::won:
      if (phase_ == Phase::numbering) return;
      break;
  }
  if (is_join(acquisition_.attempt().id())) return start_job(plan_.inherited->fence);
  phase_ = Phase::numbering;
  fence_.emplace(acquisition_.attempt(), now_, effects_);
  check_fence();
}

void Session::check_fence() {
  if (fence_->state() == FenceAgreement::State::agreed) return start_job(fence_->number());
  if (fence_->state() == FenceAgreement::State::failed) {
    phase_ = Phase::acquiring;
    acquisition_.abandon_unnumbered(now_, effects_);
  }
}

void Session::start_job(std::uint64_t fence) {
  if (!acquisition_.confirm_win(now_, effects_)) {
    phase_ = Phase::acquiring;
    return check_acquisition();
  }
  const Attempt& won = acquisition_.attempt();
  job_.emplace(plan_, acquisition_.timing(), won, now_);
  number_ = fence;
  won_at_ = now_;
  phase_ = Phase::starting;
  const std::size_t votes =
      how_many(won.votes(), Attempt::VoteState::granted, &Attempt::Vote::state);
  const Instant valid_until = lease().valid_until();
  emit(report::Acquired{won.id(), fence, votes, now_ - began_, valid_until - now_});
  const Duration needed = acquisition_.timing().needed_to_start();
  effects_.emplace_back(Spawn{won.id(), fence, valid_until - needed});
}

/// We leave the queue only now: that costs the servers time, and the job shall start first.
void Session::on_job_started() {
  acquisition_.settle(effects_, true);
  phase_ = Phase::running;
  job_->started(now_);
  listen_at_ = now_ + kShortRun;
  job_->check(now_, effects_);
}

WorkerState Session::worker_state() const {
  if (phase_ == Phase::starting || phase_ == Phase::running) return job_->worker_state();
  return {.phase = WorkerState::Phase::releasing,
          .act_by = release_limit_,
          .valid_until = lease().end(),
          .gone_by = lease().gone_by()};
}

void Session::on_job_exited(const JobExited& exit) {
  job_gone_ = true;
  job_->main_process_ended(exit.end, now_, effects_);
  outcome_ = {Outcome::Kind::job_ended, exit.status};
  if (!watching_tree()) release_lease();
}

void Session::on_signal(const Signal& signal) {
  if (!acquiring() || !signal.ends_waiting) return;
  acquisition_.withdraw(effects_);
  end_without_job({Outcome::Kind::interrupted, signal.number});
}

void Session::end_without_job(const Outcome& outcome) {
  outcome_ = outcome;
  phase_ = Phase::releasing;
  release_limit_ =
      now_ + (ended_in_vain() && !plan_.replicated ? std::min(plan_.server_timeout, kLastAnswers)
                                                   : plan_.server_timeout);
  acquisition_.release().retry(now_, effects_);
  check_release();
}

void Session::release_lease() {
  phase_ = Phase::releasing;
  // Once the lock is not valid any more, nobody needs a confirmation. Two requests over a dead
  // connection may stay unanswered before the third one goes over a new connection.
  const Duration valid_for = lease().valid_until() - now_;
  release_limit_ = now_ + std::max(std::min(valid_for, kReleasePatience), 3 * plan_.server_timeout);
  acquisition_.release().retry(now_, effects_);
  // A process that joined leaves that to the run that took the lock.
  wants_hold_ = plan_.timing.hold_on_failure > Duration::zero() && !is_join(lease().attempt()) &&
                outcome_->kind == Outcome::Kind::job_ended &&
                (outcome_->number != 0 || job_->stopping());
  keep_until_ = was_ours() ? lease().keep_until() : Instant{};
  if (leaves_hold()) keep_until_ = std::max(keep_until_, now_ + plan_.timing.hold_on_failure);
  cools_ = keep_until_ > now_;
  log(lost_while_held() ? Log::Event::lost : Log::Event::released, Log::Carrier::leave);
  // The mark goes first on every connection: a process that finds the lock free finds the mark.
  const Duration period = mark_of(plan_) == Mark::build ? kBuildLasts : plan_.timing.once;
  if (may_mark()) done_marks_.mark(job_->began(), period, now_, effects_);
  for (ServerIndex server = 0; server < plan_.servers; ++server) {
    // Even if our lease is over: a process that joined may have kept the lock since then.
    acquisition_.release().leave(server, lease().attempt(), keep_until_, now_, effects_,
                                 leaves_hold());
  }
}

bool Session::lost_while_held() const {
  const auto reason = job_->stop_reason();
  return lease().lost() || reason == StopReason::lost || reason == StopReason::lease_ending;
}

void Session::tick_releasing() {
  if (now_ >= release_limit_) return finish();
  if (now_ >= release_retry_) {
    release_retry_ = kNever;
    done_marks_.retry(now_, effects_);
    acquisition_.release().retry(now_, effects_);
  }
}

void Session::check_release() {
  using Whom = Acquisition::Whom;
  Releases& release = acquisition_.release();
  const bool settled = acquisition_.gave_back(Whom::all) && done_marks_.settled();
  // After a wait in vain, nobody waits for servers that have not answered before.
  const bool in_vain =
      ended_in_vain() && acquisition_.gave_back(Whom::answering) && done_marks_.settled();
  const bool owes_marks = job_ && may_mark() && done_marks_.marked() < quorum(plan_.servers);
  const bool quorum_released =
      job_ && !owes_marks && release.released(lease().attempt()) >= quorum(plan_.servers);
  const bool never_ours =
      job_ && release.gone(lease().attempt()) >= blocking_minority(plan_.servers);
  // finish() removes what a lost lock leaves behind, but only when every request has been answered:
  // if a connection is closed with unread answers, the last requests on it may get lost.
  const bool undoes = never_ours && (may_mark() || cools_);
  const bool answered = quorum_released && acquisition_.gave_back(Whom::answering);
  if (settled || answered || (never_ours && !undoes)) return finish();
  if (quorum_released || in_vain) {
    if (!job_ || !may_stay_long()) return finish();
    release_limit_ = std::min(release_limit_, now_ + plan_.server_timeout);
  }
  const bool has_failed = release.has_failed() || done_marks_.has_failed();
  if (has_failed && release_retry_ == kNever) release_retry_ = now_ + kReleaseRetry;
}

void Session::finish() {
  phase_ = Phase::finished;
  if (!job_) return;
  const Releases& release = acquisition_.release();
  const bool holds = release.said(lease().attempt(), &Released::held) >= quorum(plan_.servers);
  if (wants_hold_ && !holds) {
    const bool revoked = release.unheld(lease().attempt()) > 0;
    // If the lock was taken from us, a server whose answer is still to come is not to blame.
    const bool taken = revoked || lease().lost();
    emit(report::HoldMissing{taken ? std::vector<Complaint>()
                                   : release.complaints(lease().attempt())});
    if (revoked) undo_release();  // it is to be free on the other servers, too
  }
  if (release.gone(lease().attempt()) >= blocking_minority(plan_.servers)) {
    if (!lease().lost()) {
      // Without a job nobody has worked under a lock that was not ours.
      if (outcome_->kind != Outcome::Kind::not_started) {
        emit(report::NotOursAtRelease{release.complaints(lease().attempt())});
      }
      log(Log::Event::lost);
    }
    undo_release();
    if (outcome_->kind == Outcome::Kind::job_ended) outcome_ = {Outcome::Kind::lost};
  } else if (release.released(lease().attempt()) < quorum(plan_.servers)) {
    if (!wants_hold_)
      emit(report::ReleaseUnconfirmed{release.complaints(lease().attempt()),
                                      std::max(lease().gone_by() - now_, Duration::zero())});
  } else {
    const auto stays = [&](bool Released::*what) {
      return release.released(lease().attempt()) - release.said(lease().attempt(), what) <
             quorum(plan_.servers);
    };
    emit(report::Released{now_ - job_->began(), std::max(keep_until_ - now_, Duration::zero()),
                          stays(&Released::cooling), stays(&Released::kept), holds,
                          !is_join(lease().attempt()) && (job_->stopping() || job_->ending())});
    warn_of_left_overs();
  }
  if (may_mark() && done_marks_.marked() < quorum(plan_.servers)) {
    emit(report::MarkUnconfirmed{done_marks_.complaints(), mark_of(plan_)});
  }
  if (job_->stop_reason() == StopReason::max_runtime) {
    if (outcome_->kind == Outcome::Kind::job_ended) outcome_ = {Outcome::Kind::max_runtime};
  } else if (job_->stopping()) {
    outcome_ = {Outcome::Kind::lost};
  }
}

/// What a silent server keeps lives for long after the others have let the lock go. A hold that
/// joined keeps nothing.
bool Session::may_stay_long() const {
  const Instant free_at = std::max(now_, keep_until_);
  return !is_join(lease().attempt()) && lease().gone_by() - free_at > kLongLife;
}

/// A server that had the lock, and is down now, may come back with it.
void Session::warn_of_left_overs() {
  if (!may_stay_long()) return;
  std::vector<Complaint> left = acquisition_.release().complaints(lease().attempt());
  std::erase_if(left, [this](const Complaint& each) {
    return !std::holds_alternative<Unreachable>(each.answer) || !lease().held_by(each.server);
  });
  if (left.empty()) return;
  emit(report::ReleaseUnconfirmed{std::move(left), lease().gone_by() - now_, true});
}

/// A session that joined is part of another run, which has its own lines.
void Session::log(Log::Event event, Log::Carrier carrier) {
  if (is_join(lease().attempt())) return;
  Log line{.event = event,
           .carrier = carrier,
           .attempt = lease().attempt(),
           .fence = number_,
           .waited = won_at_ - began_,
           .held = now_ - won_at_,
           .stopped = job_->stop_reason()};
  if (outcome_) line.status = outcome_->number;
  if (carrier == Log::Carrier::leave && leaves_hold()) line.hold = keep_until_ - now_;
  effects_.emplace_back(line);
}

/// Removes what the release left on a minority when the other servers said that the lock was lost.
/// Even after the minimum hold: a server that was stopped may not have begun to count it.
void Session::undo_release() {
  // The number of an earlier build is overwritten, and this one was deployed, if not alone.
  if (mark_of(plan_) == Mark::once) done_marks_.undo(effects_);
  if (!cools_) return;
  for (ServerIndex server = 0; server < plan_.servers; ++server) {
    effects_.emplace_back(
        Ask{.server = server, .attempt = lease().attempt(), .operation = op::Leave{}});
  }
}

}  // namespace redlock::lock
