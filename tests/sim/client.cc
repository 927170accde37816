// SPDX-License-Identifier: MIT
#include "client.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace redlock::sim {

using namespace std::chrono_literals;

Client::Client(Scene& scene, std::size_t index)
    : Run(*scene.network, static_cast<std::uint32_t>(index), client_clock(*scene.schedule, index)),
      scene_(&scene),
      index_(static_cast<std::uint8_t>(index)),
      starting_(!is_inside() && !host().before) {
  if (starting_) start_at(host().starts);
}

void Client::plan(lock::Plan& plan) {
  const Schedule& schedule = *scene_->schedule;
  plan.timing = schedule.timing;
  plan.timing.once = schedule.client[index_].once;
  plan.timing.min_hold = schedule.client[index_].min_hold;
  plan.timing.hold_on_failure = schedule.client[index_].hold_on_failure;
  plan.server_timeout = schedule.server_timeout;
  plan.slots = schedule.client[index_].mode.slots;
  plan.seed = random().next();
  plan.patience.server_wait = random().one_of(10s, 10s, 2s);
  const std::uint32_t kind = random().below(100);
  if (schedule.client[index_].tries_once) {
    plan.patience.wait = lock::Duration::zero();
  } else if (!scene_->calm && kind < 20) {
    plan.patience.wait = random().between(20ms, schedule.timing.ttl * 2);
  } else if (!scene_->calm && kind < 35) {
    plan.patience.wait = lock::Duration::zero();
  }
  if (random().percent(5) && !schedule.client[index_].keeps) {
    plan.max_runtime = random().between(1ms, schedule.timing.ttl * 2);
  }
  if (has_stages()) plan_stage(plan);
}

void Client::start_at(Time when) {
  timeline().at(when, [this] { start(); });
}

void Client::start() {
  if (!starting_) return;  // killed before that
  if (host_is_frozen()) return start_at(now() + 10ms);
  if (session_) {
    starting_ = false;
    return;
  }
  list_ = choose_list();
  if (list_ == 0) return start_at(now() + 10ms);
  starting_ = false;
  lock::Plan plan{};
  plan.servers = list_;
  this->plan(plan);
  if (is_inside())
    plan.inherited = {.token = token_text(inherited_.token), .fence = inherited_.fence};
  tokens_.begin(index_, ++runs_, host().mode, inherited_.token);
  redis::LockContext context =
      lock_context(lock_name(host().lock), tokens_.waiter(), scene_->settings);
  if (scene_->schedule->rolls_out) context.list = std::to_string(list_);
  begin(plan, std::move(context), scene_->schedule->connect_timeout);
  job_.leader = job_.tree = job_.killed = job_.exited = false;
  signalled_ = mark_missing_ = told_ = word_ = warned_ = holds_ = hold_missing_ = queues_ = false;
  checks().session_began(index_, run(), list_);
  if (scene_->story->on()) say("starts redlock run with " + std::to_string(list_) + " servers");
  turn();
}

/// All redlocks of one run have the same list.
std::size_t Client::choose_list() const {
  if (host().inside) return (*scene_->clients)[*host().inside].list_;
  if (host().before) return (*scene_->clients)[*host().before].list_;
  const Schedule& schedule = *scene_->schedule;
  const std::size_t list = schedule.list_of(index_, now());
  const auto too_far = [list](std::size_t other) { return other > list + 1 || other + 1 < list; };
  for (const Client& each : *scene_->clients) {
    if (each.session_ && too_far(each.list_)) return 0;
  }
  for (std::size_t other = 1; other <= kMostServers; ++other) {
    const Time used = scene_->last_used[other];
    if (used > Time{} && too_far(other) && now() < used + schedule.between_steps) return 0;
  }
  return list;
}

void Client::leave(bool orderly) {
  hang_up(orderly);
  scene_->last_used[list_] = now();
}

void Client::signal() {
  if (starting_) end_before_start(SIGTERM);
  if (!session_) return;
  signalled_ = true;
  if (scene_->story->on()) say("gets a TERM");
  turn();
}

void Client::turns_without_end() {
  checks().fail("stuck", client_name(index_) + " turns without end");
}

void Client::hear_process(lock::Instant local) {
  if (signalled_ && !paused_) {
    signalled_ = false;
    step(lock::Signal{SIGTERM, true}, local);
    pass_on_term();
  }
  if (!session_ || !job_.exited) return;
  job_.exited = false;
  if (queues_) checks().fail("queue", client_name(index_) + " still waits");
  if (keeping_) {
    if (scene_->story->on()) say("has no ward any more");
    checks().ward_ended(kept_);
    return step(lock::JobExited{}, local);
  }
  checks().job_exited(index_, job_.status == 0 && !session_->watching_tree());
  step(lock::JobExited{job_.status, job_.end}, local);
}

void Client::hear_rest(lock::Instant local) {
  if (std::exchange(told_, false)) step(lock::Notice{}, local);
  if (std::exchange(word_, false) && keeping_) step(lock::Notice{.released = true}, local);
  if (keeping_ && keeping_->warns() && !std::exchange(warned_, true)) {
    if (scene_->story->on()) say("tells its ward that the lock is not kept any more");
    checks().ward_warned(index_, kept_);
  }
  if (!keeping_ && session_->watching_tree() && !job_.leader && !job_.tree)
    step(lock::JobTreeGone{}, local);
}

void Client::perform(const lock::Effect& effect, lock::Instant local) {
  Run::perform(effect, local);
  if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
    kill_job(kill->signal);
  } else if (const auto* report = std::get_if<lock::Report>(&effect)) {
    if (std::holds_alternative<lock::report::MarkUnconfirmed>(*report)) mark_missing_ = true;
    if (std::holds_alternative<lock::report::HoldMissing>(*report)) hold_missing_ = true;
    if (const auto* released = std::get_if<lock::report::Released>(report)) {
      holds_ = released->holds;
    }
    if (const auto* stopping = std::get_if<lock::report::Stopping>(report)) {
      checks().stops(index_);
      if (stopping->reason == lock::StopReason::lost) check_loss();
    }
  } else if (const auto* order = std::get_if<lock::Spawn>(&effect)) {
    spawn(*order, local);
  } else if (std::holds_alternative<lock::JoinQueue>(effect)) {
    queue();
  }
}

/// It takes its lock for lost, by what servers said.
void Client::check_loss() {
  const Token token = checks().lock_token(index_);
  if (scene_->schedule->twins || checks().was_revoked(token)) return;
  if (scene_->is_held(index_, token)) {
    checks().fail("needless", client_name(index_) + " takes a lock for lost that a quorum has");
  }
}

/// Whoever waits may be woken at any time, and by anybody: nothing may hang on it.
void Client::queue() {
  queues_ = true;
  if (host().tries_once) {
    checks().fail("queue", client_name(index_) + " waits though it asks once");
  }
  if (!random().percent(40)) return;
  const Time after = random().one_of({random().between(0us, 2ms), random().between(0us, 100ms)});
  const Time in = random().one_of(0U, 0U, 0U, 500U, random().below(5000)) * 1ms;
  timeline().after(after, [=, this, session = run()] { woken(session, in); });
}

/// Where it has not done so, or it tries to.
std::optional<Time> Client::subscribes_in(std::uint8_t server) {
  if (listens(server) || random().percent(40)) return std::nullopt;
  return delay();
}

void Client::asked(const lock::Ask& ask, lock::Instant local) {
  if (scene_->story->on()) {
    constexpr std::string_view kWords[] = {"acquire", "renew",   "repair",     "commit",
                                           "mark",    "unmark",  "revoke",     "release",
                                           "leave",   "inquire", "leave queue"};
    static_assert(std::size(kWords) == static_cast<std::size_t>(lock::Op::leave_queue) + 1);
    std::string what = "asks " + server_name(ask.server) + ": ";
    what.append(kWords[static_cast<std::size_t>(ask.op())]).append(" ");
    if (ask.attempt != lock::kNoAttempt) what += token_text(tokens_.own(ask.attempt));
    const auto* commit = ask.as<lock::op::Commit>();
    if (commit != nullptr) what += " as " + std::to_string(commit->fence);
    say(what);
  }
  checks().asked(index_, ask, local);
  if (ask.op() != lock::Op::leave_queue) return;
  // Once on each server.
  if (!queues_) checks().fail("queue", client_name(index_) + " was in none");
  if (ask.server + 1 == servers()) queues_ = false;
}

void Client::answered(const lock::Reply& reply) {
  if (scene_->story->on()) say_reply(reply);
  checks().answered(index_, reply);
}

void Client::end_session() {
  if (keeping_ && !session_->finished()) return end_keeping();
  if (scene_->story->on()) {
    constexpr std::string_view kWords[] = {
        "job ended",   "not started",   "done",        "superseded", "conflict",
        "unavailable", "misconfigured", "interrupted", "lost",       "max runtime"};
    say("ends: " + std::string(kWords[static_cast<std::size_t>(session_->outcome().kind)]));
  }
  if (keeping_) job_.leader = job_.tree = false;
  if (job_.tree) checks().fail("orphan", client_name(index_) + " leaves its job alone");
  unsubscribe_all();
  leave(true);
  if (queues_) checks().fail("queue", client_name(index_) + " never leaves it");
  const lock::Outcome::Kind end = session_->outcome().kind;
  checks().session_ended(index_, run(), end, !mark_missing_);
  const bool failed = end == lock::Outcome::Kind::max_runtime ||
                      (end == lock::Outcome::Kind::job_ended && session_->outcome().number != 0);
  if (holds_ || (failed && host().hold_on_failure > 0s)) {
    checks().run_failed(index_, holds_, hold_missing_);
  }
  if (end == lock::Outcome::Kind::done) served_ = scene_->calm;
  if (end == lock::Outcome::Kind::conflict || end == lock::Outcome::Kind::unavailable) {
    check_patience();
  }
  const int status = end == lock::Outcome::Kind::job_ended ? session_->outcome().number : 1;
  keeping_.reset();
  session_.reset();
  if (host().before) return end_stage(status);
  const bool over =
      scene_->schedule->cron || (scene_->calm && (served_ || scene_->schedule->twins));
  if (!over) start_later();
}

void Client::start_later() {
  if (is_inside()) return;
  const Time pause = random().one_of<Time>(
      {random().between(100us, 5ms), random().between(1ms, scene_->schedule->timing.ttl / 2)});
  starting_ = true;
  start_at(now() + pause);
}

void Client::calm_down() {
  if (paused_) resume();
  if (job_.leader && next_stage() == nullptr) {
    end_job_at(now() + random().between(1ms, 30ms));
  }
}

void Client::say(std::string_view what) {
  scene_->story->say(now(), client_name(index_), what);
}

void Client::say_reply(const lock::Reply& reply) {
  constexpr std::string_view kWords[] = {
      "granted",  "refused",   "renewed", "committed",  "not committed", "released", "missing",
      "not mine", "no answer", "done",    "superseded", "marked",        "revoked"};
  static_assert(std::size(kWords) == std::variant_size_v<lock::Answer>);
  std::string what = "  hears " + server_name(reply.ask.server) + " on ";
  what += token_text(tokens_.own(reply.ask.attempt)) + ": ";
  what += kWords[reply.answer.index()];
  if (const auto* grant = std::get_if<lock::Granted>(&reply.answer)) {
    what += ", fence " + std::to_string(grant->fence);
    if (grant->distrusted_for.count() > 0) what += ", restarted";
  } else if (const auto* refused = std::get_if<lock::Refused>(&reply.answer)) {
    what += " by " + refused->blocker;
  } else if (const auto* unreachable = std::get_if<lock::Unreachable>(&reply.answer)) {
    what += unreachable->maybe_applied ? ", may be carried out" : ", not carried out";
  }
  say(what);
}

}  // namespace redlock::sim
