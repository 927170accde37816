// SPDX-License-Identifier: MIT
#include "queueing/process.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "queueing/world.h"
#include "story.h"

namespace redlock::sim::queueing {

using namespace std::chrono_literals;

namespace {

/// Ids are random: their order is not the order in which processes began.
Waiter random_id(std::uint32_t number) {
  return ((number + 1) * 0x9e3779b1U) | 1U;
}

/// 8 digits, as the id of a real list has.
std::string list_id(const ServerList& list) {
  return std::to_string(10'000'000 + list.first * 100 + list.count);
}

}  // namespace

Process::Process(World& world, const ProcessPlan& plan, std::uint32_t number)
    : Run(world.network(), number, Clock(), plan.list == nullptr ? 0 : plan.list->first),
      world_(world),
      plan_(plan),
      list_(plan.list == nullptr ? ServerList{0, world.hosts().size()} : *plan.list),
      number_(number),
      waiter_(for_mode(random_id(number), plan.mode)) {}

void Process::start() {
  const Settings& settings = world_.settings();
  began_ = now();
  lock::Plan plan{};
  plan.servers = list_.count;
  plan.timing = {.ttl = settings.ttl, .grace = settings.ttl / 10};
  plan.timing.min_hold = plan_.min_hold;
  plan.slots = plan_.mode.slots;
  plan.build = plan_.build;
  plan.replaces = plan_.replaces;
  plan.server_timeout = settings.timeout;
  plan.seed = random().next();
  plan.patience.server_wait = 3600s;
  plan.patience.wait = plan_.wait;
  if (plan_.tries_once) plan.patience = {lock::Duration::zero(), 10s};
  ++runs_;
  tokens_.begin(number_ >> 10U, number_ & 0x3ffU, plan_.mode, kNoToken);
  redis::LockContext context = lock_context(lock_name(0), waiter_, world_.lock_settings());
  context.restart_grace = plan_.restart_grace_s * 1s;
  context.newest = plan_.newest;
  context.build = plan_.build;
  if (plan_.list != nullptr) context.list = list_id(list_);
  begin(plan, std::move(context), settings.timeout);
  turn();
}

void Process::hear_process(lock::Instant local) {
  if (std::exchange(exited_, false)) step(lock::JobExited{0}, local);
}

void Process::end_session() {
  const lock::Outcome::Kind kind = session_->outcome().kind;
  outcome_ = kind;
  finish(kind == lock::Outcome::Kind::job_ended    ? State::served
         : kind == lock::Outcome::Kind::conflict   ? State::refused
         : kind == lock::Outcome::Kind::superseded ? State::superseded
                                                   : State::failed);
}

void Process::asked(const lock::Ask& ask, lock::Instant) {
  if (ask.server == 0) {
    std::erase_if(asked_at_, [this](Time each) { return each + 1s <= now(); });
    asked_at_.push_back(now());
    most_asked_ = std::max(most_asked_, asked_at_.size());
  }
  if (ask.op() != lock::Op::leave_queue) return;
  const auto server = static_cast<std::uint8_t>(list_.first + ask.server);
  not_subscribed(server);
  timeline().after(message_delay(server), [this, server] {
    if ((subscribes_ >> server & 1U) == 0) unsubscribe(server);
  });
}

void Process::perform(const lock::Effect& effect, lock::Instant local) {
  Run::perform(effect, local);
  if (const auto* replace = std::get_if<lock::Replace>(&effect)) {
    for (const auto& [server, refusal] : replace->refusals) {
      Run::perform(lock::Ask{.server = server,
                             .attempt = lock::kNoAttempt,
                             .operation = lock::op::Revoke{"revoked:" + refusal.blocker + " {}"}},
                   local);
    }
  } else if (const auto* order = std::get_if<lock::Spawn>(&effect)) {
    spawn(*order, local);
  } else if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
    if (kill->signal != SIGTERM && kill->signal != SIGKILL) return;
    if (job_runs_) world_.job_stopped(*this);
    stop_job(local);
  } else if (const auto* report = std::get_if<lock::Report>(&effect)) {
    const auto* unconfirmed = std::get_if<lock::report::ReleaseUnconfirmed>(report);
    if (unconfirmed == nullptr) return;
    for (const lock::Complaint& each : unconfirmed->complaints) {
      keeps_until_[list_.first + each.server] = now() + unconfirmed->stays_for;
    }
  }
}

void Process::spawn(const lock::Spawn& order, lock::Instant local) {
  if (local >= order.latest) return step(lock::JobTooLate{}, local);
  token_ = tokens_.own(order.attempt);
  job_runs_ = true;
  state_ = State::running;
  job_began_ = now();
  world_.job_started(*this);
  timeline().after(plan_.job, [this] {
    if (!job_runs_) return;
    job_over();
    exited_ = true;
    turn();
  });
  step(lock::JobStarted{}, local);
}

void Process::job_over() {
  job_runs_ = false;
  state_ = State::releasing;
  world_.job_ended(*this);
}

/// The job obeys immediately.
void Process::stop_job(lock::Instant local) {
  if (!job_runs_) return;
  job_over();
  step(lock::JobExited{128 + SIGTERM}, local);
  step(lock::JobTreeGone{}, local);
}

void Process::resume() {
  notes.hindered_until = now() + kComesBack;
  if (std::exchange(paused_, false)) turn();
}

void Process::kill() {
  if (!alive()) return;
  if (job_runs_) job_over();
  finish(State::killed);
}

void Process::finish(State state) {
  state_ = state;
  hang_up(state != State::killed);
  session_.reset();
  world_.ended(*this);
}

void Process::cut(std::size_t index, Time until) {
  const auto server = static_cast<std::uint8_t>(index);
  notes.hindered_until = std::max(notes.hindered_until, until + kComesBack);
  for (const bool to_server : {true, false}) network().hold(number_, server, to_server, until);
  timeline().after(network().user_timeout(), [this, server] {
    if (!reaches(server)) not_subscribed(server);
  });
}

Time Process::travel(std::uint8_t server) const {
  const std::size_t index = server - list_.first;
  const Time farther = index < plan_.farther.size() ? plan_.farther[index] : Time::zero();
  return plan_.distance.one_way + farther + random().between(Time::zero(), plan_.distance.jitter);
}

Time Process::message_delay(std::uint8_t server) {
  return std::max(network().held_until(number_, server) - now(), Time::zero()) + travel(server);
}

/// A connection that is cut off for long breaks.
bool Process::loses_message(std::uint8_t server) {
  const std::uint32_t lost = world_.settings().publishes_lost;
  if (lost > 0 && random().percent(lost)) return true;
  return network().held_until(number_, server) > now() + network().user_timeout();
}

/// Two round trips: to connect, and to subscribe.
std::optional<Time> Process::subscribes_in(std::uint8_t server) {
  if (!plan_.may_subscribe || (subscribes_ >> server & 1U) != 0) return std::nullopt;
  subscribes_ |= 1U << server;
  const Time connects_in = message_delay(server) + travel(server);
  return connects_in + travel(server);
}

}  // namespace redlock::sim::queueing
