// SPDX-License-Identifier: MIT
//
// The job of a host: how it is started, obeys signals or not, is stopped or killed with its
// redlock, and ends; and the clients inside it. Or a ward, which nobody stops, for `redlock acquire
// --keep-for` and its lock::Keeping.
#include <csignal>
#include <utility>

#include "client.h"

namespace redlock::sim {

using namespace std::chrono_literals;

void Client::spawn(const lock::Spawn& order, lock::Instant local) {
  if (!scene_->calm && random().percent(scene_->schedule->stall_percent)) {
    // Stopped between the decision and the fork.
    stalled_ = order;
    stale_ = local;
    const Time length = random().between(1ms, scene_->schedule->timing.ttl);
    pause(false);
    timeline().after(length, [this] { resume(); });
    return;
  }
  spawn_now(order, local);
}

/// As Runner::spawn: the clock is read once more.
void Client::spawn_now(const lock::Spawn& order, lock::Instant local) {
  if (clock_.now(now()) >= order.latest) {
    if (scene_->story->on()) say("finds it too late to start the job");
    return step(lock::JobTooLate{}, local);
  }
  if (!scene_->calm && !scene_->schedule->cron && random().percent(3)) {
    if (scene_->story->on()) say("cannot start its job");
    return step(lock::JobFailedToStart{127}, local);
  }
  const Schedule& schedule = *scene_->schedule;
  job_ = {.leader = true,
          .tree = true,
          .killed = false,
          .lingers = random().percent(20),
          .exited = false,
          .told = false,
          .stamp = job_.stamp + 1,
          .status = random().percent(20) ? 1 : 0,
          .end = lock::JobEnd::by_itself};
  Client* const next = next_stage();
  if (next == nullptr) first_stage().served_ = scene_->calm;
  if (scene_->story->on()) say("starts its job with fence " + std::to_string(order.fence));
  checks().job_started(index_, order.attempt, order.fence, tokens_.own(order.attempt),
                       tokens_.lock(order.attempt));
  start_inside({tokens_.lock(order.attempt), order.fence});
  if (has_stages()) {
    check_stages();
    check_patience();
  }
  if (next != nullptr) {
    start_next(*next);
    return step(lock::JobStarted{}, local);
  }
  Time runtime = random().between(1ms, 30ms);
  if (!scene_->calm) {
    const Time longer = random().between(1ms, schedule.timing.ttl);
    runtime =
        random().one_of(runtime, longer, schedule.short_jobs ? runtime : schedule.calm_from * 2);
  }
  end_job_at(now() + runtime);
  if (schedule.client[index_].keeps) begin_keeping(order);
  step(lock::JobStarted{}, local);
}

/// A TERM may be obeyed immediately, in a while or never; a KILL takes up to the margin.
void Client::kill_job(int number) {
  if (number != SIGTERM && number != SIGKILL) return;
  // Also if the job has ended by itself, and the loop has not heard of it yet.
  if (session_->worker_state().phase == lock::WorkerState::Phase::stopping) {
    checks().stopping(index_);
  }
  if (!job_.tree) return;
  const lock::Duration grace = scene_->schedule->timing.grace;
  if (number == SIGKILL && !job_.killed) {
    job_.killed = true;
    const lock::Duration most = kill_margin(scene_->schedule->timing.ttl) - 2ms;
    const Time takes = clock_.stretch(
        random().one_of<lock::Duration>({100us, random().between(100us, most), most, most}));
    end_tree_at(now() + takes);
  } else if (number == SIGTERM && next_stage() != nullptr) {
    next_stage()->signal();
  } else if (number == SIGTERM && random().percent(50)) {
    const Time takes = random().between(100us, grace + 10ms);
    end_job_at(now() + takes);
  }
  if (scene_->story->on()) say(number == SIGKILL ? "sends its job KILL" : "sends its job TERM");
}

void Client::job_over() {
  if (!job_.tree) return;
  job_.tree = false;
  check_tree();
  if (scene_->story->on()) say("has no job any more");
  checks().job_gone(index_);
}

void Client::end_job_at(Time when) {
  timeline().at(when, [this, stamp = job_.stamp] {
    if (stamp == job_.stamp && job_.leader) job_ends();
  });
}

void Client::job_ends() {
  if (frozen_) return end_job_at(now() + 10ms);
  job_.leader = false;
  job_.exited = true;
  job_.end = end_of_job();
  // Descendants of a job that ends by itself are not the lock's business.
  const bool must_end = session_->watching_tree() || job_.end != lock::JobEnd::by_itself;
  if ((!job_.lingers && !inside_alive()) || !must_end) {
    job_over();
  } else if (!session_->watching_tree() && scene_->ends->percent(60)) {
    end_tree_at(now() + scene_->ends->between(0s, scene_->schedule->timing.grace * 2));
  }
  turn();
}

/// Some that nobody has told to end are killed from elsewhere.
lock::JobEnd Client::end_of_job() const {
  if (!scene_->schedule->jobs_leave || keeping_ || next_stage() != nullptr) {
    return lock::JobEnd::by_itself;
  }
  if (job_.told) return lock::JobEnd::as_told;
  return scene_->ends->percent(20) ? lock::JobEnd::killed : lock::JobEnd::by_itself;
}

void Client::end_tree_at(Time when) {
  timeline().at(when, [this, stamp = job_.stamp] {
    if (stamp == job_.stamp && job_.tree) tree_ends();
  });
}

void Client::tree_ends() {
  if (frozen_) return end_tree_at(now() + 1ms);
  job_.exited = job_.exited || job_.leader;
  job_.leader = false;
  kill_inside();
  kill_next();
  job_over();
  turn();
}

void Client::pause(bool whole_host) {
  if (!session_ || paused_) return;
  paused_ = true;
  frozen_ = whole_host;
  // Stopped before the next turn reads its clock, or right after.
  if (!stalled_ && random().percent(50)) stale_ = clock_.now(now());
  checks().paused(index_);
  if (scene_->story->on()) say(whole_host ? "is suspended, its job too" : "is stopped");
}

void Client::resume() {
  if (!paused_) return;
  if (scene_->story->on()) say("goes on");
  paused_ = frozen_ = false;
  checks().resumed(index_);
  const std::optional<lock::Instant> stale = std::exchange(stale_, std::nullopt);
  if (const auto order = std::exchange(stalled_, std::nullopt)) {
    spawn_now(*order, *stale);
    finish_turn(*stale);
  } else if (stale) {
    run_turn(*stale);
  }
  turn();
}

void Client::kill() {
  if (starting_) end_before_start(SIGKILL);
  if (!session_) return;
  if (scene_->story->on()) say("is killed, its job too");
  kill_inside();
  kill_next();
  job_.leader = false;
  job_over();
  if (paused_) {
    paused_ = frozen_ = false;
    checks().resumed(index_);
  }
  stale_.reset();
  stalled_.reset();
  keeping_.reset();
  unsubscribe_all();
  leave(false);
  session_.reset();
  if (host().before) return end_stage(128 + SIGKILL);
  start_later();
}

bool Client::is_inside() const {
  return scene_->schedule->client[index_].inside.has_value();
}

/// The clients inside this one's job: a redlock each that joins its lock.
template <class Each>
void Client::each_inside(Each each) const {
  for (std::size_t i = 0; i < scene_->schedule->clients; ++i) {
    if (scene_->schedule->client[i].inside == index_) each((*scene_->clients)[i]);
  }
}

void Client::start_inside(const Inherited& lock) const {
  each_inside([&](Client& inner) {
    if (inner.session_ || inner.starting_) return;  // it has outlived an earlier job
    inner.inherited_ = lock;
    inner.starting_ = true;
    inner.start_at(now() + random().between(100us, 40ms));
  });
}

bool Client::inside_alive() const {
  bool alive = false;
  each_inside([&](const Client& inner) { alive |= inner.session_.has_value(); });
  return alive;
}

void Client::kill_inside() const {
  each_inside([](Client& inner) { inner.kill(); });
}

bool Client::keeps(Token token) const {
  return keeping_ && job_.leader && token == kept_;
}

/// What was started is no job but a ward: it lives on without the lock, if it wants to.
void Client::begin_keeping(const lock::Spawn& order) {
  kept_ = tokens_.lock(order.attempt);
  job_.lingers = false;
  checks().ward_started(index_);
  keeping_.emplace(
      *session_, servers(),
      lock::Log{
          .event = lock::Log::Event::acquired, .attempt = order.attempt, .fence = order.fence});
  drive_->change_machine(*keeping_);
}

/// A keeper that has warned its ward leaves the lock to expire. Any other keeper has released it.
void Client::end_keeping() {
  if (scene_->story->on()) say("ends, and leaves the lock to expire");
  const bool orderly = !keeping_->warns();
  leave(orderly);
  job_.leader = job_.tree = false;
  keeping_.reset();
  session_.reset();
  start_later();
}

}  // namespace redlock::sim
