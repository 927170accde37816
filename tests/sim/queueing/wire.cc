// SPDX-License-Identifier: MIT
#include "queueing/wire.h"

#include <algorithm>
#include <chrono>

namespace redlock::sim::queueing {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t kMostOwed = 64;

lock::Unreachable unanswered(bool maybe_applied) {
  return {.maybe_applied = maybe_applied, .permanent = false, .why = {}};
}

bool is_settled(const lock::Answer& answer) {
  const auto* released = std::get_if<lock::Released>(&answer);
  return (released != nullptr && !released->cooling) ||
         std::holds_alternative<lock::Missing>(answer) ||
         std::holds_alternative<lock::NotMine>(answer);
}

}  // namespace

Time Wire::travel() const {
  const Time held = std::max(cut_until_ - ends_.timeline->now(), Time::zero());
  return held + ends_.distance.one_way + ends_.random->between(Time::zero(), ends_.distance.jitter);
}

Time Wire::arrival_there() {
  return last_there_ = std::max(last_there_, ends_.timeline->now() + travel());
}

Time Wire::arrival_here() {
  return last_here_ = std::max(last_here_, ends_.timeline->now() + travel());
}

bool Wire::ever_sent(lock::AttemptId attempt) const {
  return std::ranges::find(sent_, attempt) != sent_.end();
}

void Wire::tell(const lock::Ask& ask, lock::Instant sent, const lock::Answer& answer) {
  ends_.listener->replied({ask, sent, answer});
}

/// The loop reads it in its next turn.
void Wire::tell_soon(const lock::Ask& ask, const lock::Answer& answer) {
  ends_.timeline->after(Time::zero(), [this, ask, answer, sent = now()] {
    if (!ended_) tell(ask, sent, answer);
  });
}

void Wire::ask(const lock::Ask& ask) {
  if (ask.op == lock::Op::leave_queue) {
    unsubscribe();
    if (state_ != State::ready && queue_.empty()) return tell_soon(ask, unanswered(false));
  } else if (lock::is_release(ask.op)) {
    std::erase_if(queue_, [&](const Pending& each) {
      return each.ask.attempt == ask.attempt && !each.written;
    });
    if (!ever_sent(ask.attempt)) return tell_soon(ask, lock::Missing{});
  } else if (queue_.size() >= kMostOwed) {
    return tell_soon(ask, unanswered(false));
  }
  queue_.push_back({.ask = ask, .sent = now(), .number = ++requests_});
  if (state_ == State::idle) connect();
  if (state_ == State::ready) write(queue_.back());
}

void Wire::join_queue(lock::Ticket ticket) {
  subscribe();
  if (ticket == 0 || state_ != State::ready || !queue_.empty()) return;
  queue_.push_back(
      {.ask = {}, .sent = now(), .number = ++requests_, .written = true, .note = true});
  send({.waiter = ends_.waiter, .ticket = ticket, .joins_queue = true});
}

/// Connects: one round trip. A server that is down refuses; one that is stopped does not.
void Wire::connect() {
  state_ = State::dialing;
  last_there_ = last_here_ = Time::zero();
  const std::uint32_t connection = ++connection_;
  const Time there = travel();
  ends_.timeline->after(there + travel(), [this, connection] {
    if (ended_ || connection != connection_ || state_ != State::dialing) return;
    ends_.host->up() ? connected() : disconnect();
  });
  ends_.timeline->after(ends_.timeout, [this, connection] {
    if (!ended_ && connection == connection_ && state_ == State::dialing) disconnect();
  });
}

void Wire::connected() {
  state_ = State::ready;
  server_life_ = ends_.host->life();
  for (Pending& each : queue_) write(each);
}

Request Wire::request_of(const lock::Ask& ask) const {
  const bool of_attempt = ask.attempt != lock::kNoAttempt;
  const bool waits = ask.ticket != 0 || ask.op == lock::Op::leave_queue;
  const Token token = ends_.tokens->own(ask.attempt);
  return {.op = ask.op,
          .token = of_attempt ? token : kNoToken,
          .fence = ask.fence,
          .hold = of_attempt ? token : kNoToken,
          .life_ms = std::chrono::ceil<milliseconds>(ask.life).count(),
          .waiter = waits ? ends_.waiter : kNoWaiter,
          .ticket = ask.ticket};
}

void Wire::write(Pending& pending) {
  pending.written = true;
  pending.sent = now();
  if (pending.ask.attempt != lock::kNoAttempt && !ever_sent(pending.ask.attempt)) {
    sent_.push_back(pending.ask.attempt);
  }
  ends_.timeline->after(ends_.timeout, [this, number = pending.number] { time_out(number); });
  send(request_of(pending.ask));
}

void Wire::send(const Request& request) {
  ends_.timeline->at(arrival_there(),
                     [this, request, connection = connection_, life = server_life_] {
                       if (ends_.host->life() != life) {
                         // The server's kernel knows no such connection.
                         ends_.timeline->at(arrival_here(), [this, connection] {
                           if (!ended_ && connection == connection_) disconnect();
                         });
                         return;
                       }
                       ends_.host->take(request, [this, connection](const Response& response) {
                         ends_.timeline->at(arrival_here(), [this, connection, response] {
                           if (!ended_ && connection == connection_) take_response(response);
                         });
                       });
                     });
}

void Wire::take_response(const Response& response) {
  const Pending pending = queue_.front();
  queue_.pop_front();
  if (pending.note) return;
  const lock::Answer answer = read_answer(response, *ends_.settings, Mutation::none);
  if (lock::is_release(pending.ask.op) && is_settled(answer)) {
    std::erase(sent_, pending.ask.attempt);
  }
  tell(pending.ask, pending.sent, answer);
}

void Wire::time_out(std::uint64_t number) {
  if (ended_) return;
  const auto pending = std::ranges::find(queue_, number, &Pending::number);
  if (pending == queue_.end() || pending->told || pending->note) return;
  pending->told = true;
  tell(lock::Ask(pending->ask), pending->sent, unanswered(true));
}

void Wire::disconnect() {
  state_ = State::idle;
  ++connection_;
  if (server_life_ != ends_.host->life()) subscribes_ = false;  // that one broke, too
  const std::deque<Pending> lost = std::exchange(queue_, {});
  for (const Pending& each : lost) {
    if (!each.told && !each.note) tell_soon(each.ask, unanswered(each.written));
  }
}

/// Two round trips: to connect, and to subscribe.
void Wire::subscribe() {
  if (subscribes_ && subscribed_life_ == ends_.host->life()) return;
  if (!ends_.may_subscribe || !ends_.host->up()) return;
  subscribes_ = true;
  subscribed_life_ = ends_.host->life();
  const std::uint32_t subscription = ++subscription_;
  const Time first = travel() + travel() + travel();
  const Time then = travel();
  ends_.timeline->after(first, [this, subscription, then] {
    if (ended_ || subscription != subscription_ || !ends_.host->up()) return;
    ends_.host->subscribe(ends_.waiter);
    ends_.timeline->after(then, [this, subscription] {
      if (ended_ || subscription != subscription_ || !ends_.host->working()) return;
      ends_.listener->subscribed(ends_.host->index());
    });
  });
}

void Wire::unsubscribe() {
  subscribes_ = false;
  ++subscription_;
  ends_.timeline->after(travel(), [this, subscription = subscription_] {
    if (subscription == subscription_) ends_.host->unsubscribe(ends_.waiter);
  });
}

void Wire::wake(const WakeUp& wake_up) {
  const Time in = wake_up.text == WakeUp::Text::free   ? Time::zero()
                  : wake_up.text == WakeUp::Text::next ? milliseconds(500)
                                                       : milliseconds(wake_up.pttl);
  ends_.timeline->after(travel(), [this, in, subscription = subscription_] {
    if (!ended_ && subscription == subscription_) ends_.listener->woken(in);
  });
}

void Wire::cut(Time until, Time breaks_after) {
  cut_until_ = std::max(cut_until_, until);
  ends_.timeline->after(breaks_after, [this] {
    if (ended_ || ends_.timeline->now() >= cut_until_) return;
    subscribes_ = false;
    ++subscription_;
    if (state_ == State::ready) disconnect();
  });
}

void Wire::end() {
  if (ended_) return;
  unsubscribe();
  ended_ = true;
  queue_.clear();
}

}  // namespace redlock::sim::queueing
