// SPDX-License-Identifier: MIT
#include "queueing/process.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "queueing/world.h"

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
    : world_(world),
      plan_(plan),
      list_(plan.list == nullptr ? ServerList{0, world.hosts().size()} : *plan.list),
      number_(number),
      waiter_(for_mode(random_id(number), plan.mode)),
      cut_until_(list_.count),
      keeps_until_(list_.count) {}

void Process::start() {
  const Settings& settings = world_.settings();
  began_ = now_();
  lock::Plan plan{};
  plan.servers = list_.count;
  plan.timing = {.ttl = settings.ttl, .grace = settings.ttl / 10};
  plan.timing.min_hold = plan_.min_hold;
  plan.slots = plan_.mode.slots;
  plan.build = plan_.build;
  plan.replaces = plan_.replaces;
  plan.server_timeout = settings.timeout;
  plan.seed = world_.random().next();
  plan.patience.server_wait = 3600s;
  plan.patience.wait = plan_.wait;
  if (plan_.tries_once) plan.patience = {lock::Duration::zero(), 10s};
  session_ = std::make_unique<lock::Session>(plan, now());
  drive_ = std::make_unique<lock::Drive>(*session_, *this);
  tokens_.begin(number_ >> 10U, number_ & 0x3ffU, plan_.mode, kNoToken);
  context_ = lock_context(lock_key(0), waiter_, world_.lock_settings());
  context_.restart_grace = plan_.restart_grace_s * 1s;
  context_.newest = plan_.newest;
  context_.build = plan_.build;
  if (plan_.list != nullptr) context_.list = list_id(list_);
  for (std::size_t i = 0; i < list_.count; ++i) {
    Distance distance = plan_.distance;
    if (i < plan_.farther.size()) distance.one_way += plan_.farther[i];
    Host& host = world_.hosts()[list_.first + i];
    wires_.push_back(std::make_unique<Wire>(*this, i, host, distance));
    links_.emplace_back().begin({.transport = wires_.back().get(),
                                 .context = &context_,
                                 .tokens = &tokens_,
                                 .connect_timeout = settings.timeout,
                                 .server_timeout = settings.timeout});
  }
  turn();
}

Time Process::now_() const {
  return world_.now();
}

void Process::take(lock::Event event) {
  if (!alive()) return;
  events_.push_back(std::move(event));
  turn();
}

void Process::received(std::size_t server, Inbound inbound) {
  if (!alive()) return;
  links_[server].take_in(std::move(inbound));
  turn();
}

/// One turn of the loop: the time, then what came in. Not while it is stopped.
void Process::turn() {
  if (!alive() || frozen_) return;
  step(lock::Tick{});
  read_answers();
  for (lock::Event& event : std::exchange(events_, {})) step(std::move(event));
  after_turn();
}

void Process::read_answers() {
  std::vector<Link::Arrival> arrivals;
  for (Link& link : links_) link.turn(now(), arrivals);
  for (Link::Arrival& each : arrivals) {
    step(lock::Reply{each.ask, each.sent, std::move(each.answer)});
  }
}

void Process::step(lock::Event event) {
  drive_->step(std::move(event), now());
}

void Process::after_turn() {
  if (!alive()) return;
  if (session_->finished()) {
    const lock::Outcome::Kind kind = session_->outcome().kind;
    outcome_ = kind;
    return finish(kind == lock::Outcome::Kind::job_ended    ? State::served
                  : kind == lock::Outcome::Kind::conflict   ? State::refused
                  : kind == lock::Outcome::Kind::superseded ? State::superseded
                                                            : State::failed);
  }
  lock::Instant deadline = session_->deadline();
  for (const Link& link : links_) {
    deadline = link.has_news() ? lock::Instant{} : std::min(deadline, link.deadline());
  }
  if (deadline == lock::kNever) return;
  const Time at = std::max(deadline.time_since_epoch(), now_());
  if (at >= wakes_at_) return;
  wakes_at_ = at;
  world_.timeline().at(at, [this, at] {
    if (wakes_at_ != at) return;
    wakes_at_ = kForever;
    turn();
  });
}

void Process::perform(const lock::Effect& effect, lock::Instant) {
  if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
    tokens_.asks(*ask);
    if (ask->server == 0) count_request();
    if (ask->op() == lock::Op::leave_queue) wires_[ask->server]->unsubscribe();
    links_[ask->server].ask(*ask, now());
  } else if (const auto* join = std::get_if<lock::JoinQueue>(&effect)) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      wires_[i]->subscribe();
      if (join->ticket != 0) links_[i].join_queue(join->ticket, now());
    }
  } else if (const auto* replace = std::get_if<lock::Replace>(&effect)) {
    for (const auto& [server, refusal] : replace->refusals) {
      links_[server].ask({.server = server,
                          .attempt = lock::kNoAttempt,
                          .operation = lock::op::Revoke{"revoked:" + refusal.blocker + " {}"}},
                         now());
    }
  } else if (const auto* order = std::get_if<lock::Spawn>(&effect)) {
    spawn(*order);
  } else if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
    if (kill->signal != SIGTERM && kill->signal != SIGKILL) return;
    if (job_runs_) world_.job_stopped(*this);
    stop_job();
  } else if (std::holds_alternative<lock::Measure>(effect)) {
    step(lock::KillCost{lock::Duration::zero()});
  } else if (const auto* report = std::get_if<lock::Report>(&effect)) {
    const auto* unconfirmed = std::get_if<lock::report::ReleaseUnconfirmed>(report);
    if (unconfirmed != nullptr) note_left(*unconfirmed);
  }
}

void Process::count_request() {
  std::erase_if(asked_at_, [this](Time each) { return each + 1s <= now_(); });
  asked_at_.push_back(now_());
  most_asked_ = std::max(most_asked_, asked_at_.size());
}

void Process::note_left(const lock::report::ReleaseUnconfirmed& report) {
  for (const lock::Complaint& each : report.complaints) {
    keeps_until_[each.server] = now_() + report.stays_for;
  }
}

void Process::spawn(const lock::Spawn& order) {
  if (now() >= order.latest) return step(lock::JobTooLate{});
  token_ = tokens_.own(order.attempt);
  job_runs_ = true;
  state_ = State::running;
  job_began_ = now_();
  world_.job_started(*this);
  world_.timeline().after(plan_.job, [this] {
    if (!job_runs_) return;
    job_over();
    take(lock::JobExited{0});
  });
  step(lock::JobStarted{});
}

void Process::job_over() {
  job_runs_ = false;
  state_ = State::releasing;
  world_.job_ended(*this);
}

/// The job obeys immediately.
void Process::stop_job() {
  if (!job_runs_) return;
  job_over();
  step(lock::JobExited{128 + SIGTERM});
  step(lock::JobTreeGone{});
}

void Process::resume() {
  notes.hindered_until = now_() + kComesBack;
  if (std::exchange(frozen_, false)) turn();
}

void Process::kill() {
  if (!alive()) return;
  if (job_runs_) job_over();
  finish(State::killed);
}

void Process::cut(std::size_t server, Time until) {
  notes.hindered_until = std::max(notes.hindered_until, until + kComesBack);
  const std::size_t index = server - list_.first;
  cut_until_[index] = std::max(cut_until_[index], until);
  // TCP_USER_TIMEOUT
  wires_[index]->cut(until, std::max<Time>(1s, world_.settings().ttl / 6));
}

void Process::finish(State state) {
  state_ = state;
  for (const auto& wire : wires_) wire->end();
  links_.clear();
  events_.clear();
  drive_.reset();
  session_.reset();
  world_.ended(*this);
}

Timeline& Wire::timeline() const {
  return process_.world().timeline();
}

Time Wire::travel() const {
  const Time held = std::max(cut_until_ - timeline().now(), Time::zero());
  return held + distance_.one_way +
         process_.world().random().between(Time::zero(), distance_.jitter);
}

Time Wire::arrival_here() {
  return last_here_ = std::max(last_here_, timeline().now() + travel());
}

void Wire::tell(ConnectionId id, Inbound inbound) {
  if (!ended_ && id == connection_) process_.received(index_, std::move(inbound));
}

ConnectionId Wire::dial(std::uint32_t, std::uint8_t, std::uint32_t, bool) {
  last_there_ = last_here_ = Time::zero();
  const Time there = travel();
  timeline().after(there + travel(), [this, id = ++connection_] {
    if (id != connection_) return;
    connected_ = host_.up();
    server_life_ = host_.life();
    tell(id, {connected_ ? Inbound::Kind::connected : Inbound::Kind::refused, {}});
  });
  return connection_;
}

void Wire::send(ConnectionId id, Request request) {
  last_there_ = std::max(last_there_, timeline().now() + travel());
  timeline().at(last_there_, [this, request = std::move(request), id, life = server_life_] {
    if (host_.life() != life) {
      // The server's kernel knows no such connection.
      timeline().at(arrival_here(), [this, id] { tell(id, {Inbound::Kind::broken, {}}); });
      return;
    }
    host_.take(request, [this, id](const lock::Answer& answer) {
      timeline().at(arrival_here(), [this, id, answer] {
        tell(id, {Inbound::Kind::answer, answer});
      });
    });
  });
}

void Wire::hang_up(ConnectionId, bool) {
  ++connection_;
  connected_ = false;
  if (server_life_ != host_.life()) subscribes_ = false;  // that one broke, too
}

/// Two round trips: to connect, and to subscribe.
void Wire::subscribe() {
  if (subscribes_ && subscribed_life_ == host_.life()) return;
  if (!process_.plan().may_subscribe || !host_.up()) return;
  subscribes_ = true;
  subscribed_life_ = host_.life();
  const std::uint32_t subscription = ++subscription_;
  const Time first = travel() + travel() + travel();
  const Time then = travel();
  timeline().after(first, [this, subscription, then] {
    if (ended_ || subscription != subscription_ || !host_.up()) return;
    host_.subscribe(process_.waiter());
    timeline().after(then, [this, subscription] {
      if (ended_ || subscription != subscription_ || !host_.working()) return;
      process_.subscribed(index_);
    });
  });
}

void Wire::unsubscribe() {
  subscribes_ = false;
  ++subscription_;
  timeline().after(travel(), [this, subscription = subscription_] {
    if (subscription == subscription_) host_.unsubscribe(process_.waiter());
  });
}

void Wire::wake(lock::Duration in) {
  timeline().after(travel(), [this, in, subscription = subscription_] {
    if (!ended_ && subscription == subscription_) process_.woken(in);
  });
}

void Wire::cut(Time until, Time breaks_after) {
  cut_until_ = std::max(cut_until_, until);
  timeline().after(breaks_after, [this] {
    if (ended_ || timeline().now() >= cut_until_) return;
    subscribes_ = false;
    ++subscription_;
    if (connected_) tell(connection_, {Inbound::Kind::broken, {}});
  });
}

void Wire::end() {
  if (ended_) return;
  unsubscribe();
  ended_ = true;
}

}  // namespace redlock::sim::queueing
