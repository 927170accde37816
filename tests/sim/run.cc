// SPDX-License-Identifier: MIT
#include "run.h"

#include <utility>

namespace redlock::sim {

using namespace std::chrono_literals;

void Run::begin(const lock::Plan& plan, redis::LockContext context,
                lock::Duration connect_timeout) {
  session_.emplace(plan, clock_.now(now()));
  drive_.emplace(*session_, *this);
  servers_ = plan.servers;
  context_ = std::move(context);
  for (std::size_t i = 0; i < servers_; ++i) {
    links_[i].begin({.transport = &network_,
                     .context = &context_,
                     .tokens = &tokens_,
                     .connect_timeout = connect_timeout,
                     .server_timeout = plan.server_timeout,
                     .client = client_,
                     .server = static_cast<std::uint8_t>(first_server_ + i),
                     .session = runs_});
  }
  arrivals_.clear();
  next_arrival_ = 0;
  woken_.reset();
  subscribed_ = 0;
}

void Run::take_in(std::uint8_t server, Inbound inbound) {
  if (!session_) return;
  links_[server - first_server_].take_in(std::move(inbound));
  turn();
}

void Run::turn() {
  if (!session_ || paused_) return;
  if (now() != last_turn_) turns_at_once_ = 0;
  last_turn_ = now();
  if (++turns_at_once_ > 2000) return turns_without_end();
  run_turn(clock_.now(now()));
}

void Run::run_turn(lock::Instant local) {
  step(lock::Tick{}, local);
  if (session_) hear_process(local);
  if (session_ && !paused_) finish_turn(local);
}

void Run::finish_turn(lock::Instant local) {
  if (next_arrival_ == arrivals_.size()) {
    arrivals_.clear();
    next_arrival_ = 0;
    for (std::size_t i = 0; i < servers_; ++i) links_[i].turn(local, arrivals_);
  }
  while (next_arrival_ < arrivals_.size() && !paused_) {
    Link::Arrival& arrival = arrivals_[next_arrival_++];
    const lock::Reply reply{arrival.ask, arrival.sent, std::move(arrival.answer)};
    answered(reply);
    step(reply, local);
  }
  if (paused_) return;
  const std::uint32_t subscribed = std::exchange(subscribed_, 0);
  for (lock::ServerIndex server = 0; server < servers_; ++server) {
    if ((subscribed >> server & 1U) != 0) step(lock::Subscribed{server}, local);
  }
  if (const auto in = std::exchange(woken_, std::nullopt)) step(lock::Woken{*in}, local);
  hear_rest(local);
  if (drive_->machine().finished()) {
    end_session();
  } else {
    schedule_wake();
  }
}

void Run::perform(const lock::Effect& effect, lock::Instant local) {
  if (const auto* request = std::get_if<lock::Ask>(&effect)) {
    tokens_.asks(*request);
    asked(*request, local);
    links_[request->server].ask(*request, local);
  } else if (const auto* join = std::get_if<lock::JoinQueue>(&effect)) {
    join_queue(join->ticket);
  } else if (std::holds_alternative<lock::Measure>(effect)) {
    step(lock::KillCost{lock::Duration::zero()}, local);
  }
}

void Run::join_queue(lock::Ticket ticket) {
  for (std::size_t i = 0; ticket != 0 && i < servers_; ++i) {
    links_[i].join_queue(ticket, clock_.now(now()));
  }
  for (std::size_t i = 0; i < servers_; ++i) {
    subscribe(static_cast<std::uint8_t>(first_server_ + i));
  }
}

/// The SUBSCRIBE arrives later, and later still the process hears of that.
void Run::subscribe(std::uint8_t server) {
  const std::optional<Time> in = subscribes_in(server);
  if (!in) return;
  timeline().after(*in, [this, server, session = run()] {
    if (!network_.is_up(server)) return not_subscribed(server);
    listens_[server] = session;
    timeline().after(message_delay(server), [=, this] {
      hear(session, [=, this] { subscribed_ |= 1U << (server - first_server_); });
    });
  });
}

bool Run::publish(std::uint8_t server, std::uint32_t run, lock::Duration in) {
  if (listens_[server] != run) return false;
  if (loses_message(server)) return true;
  timeline().after(message_delay(server), [=, this] { woken(run, in / 1ms * 1ms); });
  return true;
}

void Run::hang_up(bool orderly) {
  for (std::size_t i = 0; i < servers_; ++i) links_[i].end(orderly);
}

void Run::schedule_wake() {
  lock::Instant deadline = drive_->machine().deadline();
  for (std::size_t i = 0; i < servers_; ++i) {
    deadline = links_[i].has_news() ? lock::Instant{} : std::min(deadline, links_[i].deadline());
  }
  if (deadline == lock::kNever) return;
  const Time at = std::max(clock_.when(deadline), now());
  if (at >= wake_at_ || at == kForever) return;
  wake_at_ = at;
  timeline().at(at, [this, at] {
    if (at != wake_at_) return;
    wake_at_ = kForever;
    turn();
  });
}

}  // namespace redlock::sim
