// SPDX-License-Identifier: MIT
#include "link.h"

#include <algorithm>
#include <utility>

namespace redlock::sim {

namespace {

/// As many bytes as the flight has by hash, about. Only their number counts: its commands go to a
/// simulated server as values.
std::string bytes_of(const redis::Flight& flight) {
  std::size_t size = 0;
  for (const redis::Command& command : flight.commands) {
    const bool by_hash = command.script != nullptr && !command.script->sha1[0].empty();
    if (command.script != nullptr) size += by_hash ? 40 : command.script->text.size();
    for (const std::string& key : command.keys) size += key.size();
    for (const std::string& word : command.words) size += word.size();
  }
  return std::string(size, '*');
}

lock::Unreachable no_answer(bool maybe_applied) {
  return {.maybe_applied = maybe_applied, .permanent = false, .why = {}};
}

bool is_gone(const lock::Answer& answer) {
  const auto* released = std::get_if<lock::Released>(&answer);
  return (released != nullptr && !released->cooling && !released->held) ||
         std::holds_alternative<lock::Missing>(answer) ||
         std::holds_alternative<lock::NotMine>(answer);
}

}  // namespace

void Link::begin(const Ends& ends) {
  *this = {};
  ends_ = ends;
}

void Link::ask(const lock::Ask& ask, lock::Instant now) {
  if (ask.op() == lock::Op::leave_queue && state_ != State::ready && pipeline_.empty()) {
    ready_.push_back({ask, now, no_answer(false)});
    return;
  }
  if (lock::is_release(ask.op())) {
    pipeline_.cancel_unsent(ask.attempt);
    if (state_ == State::ready) flush(now);  // what had to wait for these
    if (!pipeline_.sent_attempts().contains(ask.attempt)) {
      ready_.push_back({ask, now, lock::Missing{}});
      return;
    }
  }
  // A note that undoes this request must not come after it.
  if (ask.op() == lock::Op::leave_queue) pipeline_.cancel_notes();
  redis::Flight flight = encode(ask, *ends_.context, *ends_.tokens);
  std::string bytes = bytes_of(flight);
  pipeline_.add(ask, std::move(flight), std::move(bytes), now).deadline =
      state_ == State::ready ? now + ends_.server_timeout : lock::kNever;
  if (state_ == State::ready) return flush(now);
  if (state_ == State::dialing) return;
  state_ = State::dialing;
  connect_deadline_ = now + ends_.connect_timeout;
  connection_ = ends_.transport->dial(ends_.client, ends_.server, ends_.session, clean_);
}

void Link::join_queue(lock::Ticket ticket, lock::Instant now) {
  if (state_ != State::ready || pipeline_.overdue() > 0) return;
  const redis::LockContext& context = *ends_.context;
  redis::Flight flight{
      {redis::encode_join_queue(context.lock_key, context.waiter, context.holder_json, ticket)}};
  std::string bytes = bytes_of(flight);
  pipeline_.add_note(std::move(flight), std::move(bytes), now);
  flush(now);
}

/// The kernel takes every byte.
void Link::flush(lock::Instant now) {
  while (redis::Pipeline::Pending* const next = pipeline_.next_to_send()) {
    Request request = describe(next->ask, *ends_.context, *ends_.tokens);
    // The server answers them with one reply.
    request.commands = std::exchange(next->flight, {{redis::Command{}}}).commands;
    pipeline_.sent(*next, next->wire.size(), now);
    next->deadline = now + ends_.server_timeout;
    ends_.transport->send(connection_, std::move(request));
  }
}

void Link::turn(lock::Instant now, std::vector<Arrival>& arrivals) {
  for (Arrival& arrival : ready_) arrivals.push_back(std::move(arrival));
  ready_.clear();
  for (Inbound& inbound : inbox_) {
    if (inbound.kind == Inbound::Kind::connected) {
      state_ = State::ready;
      connect_deadline_ = lock::kNever;
      pipeline_.set_deadlines(now + ends_.server_timeout);
      flush(now);
    } else if (inbound.kind == Inbound::Kind::answer) {
      redis::Value reply;
      pipeline_.take_reply(reply);
      flush(now);  // what had to wait for it
    } else {
      disconnect();
    }
    report(std::move(inbound.answer), arrivals);
  }
  inbox_.clear();
  if (now >= connect_deadline_) disconnect();
  if (state_ == State::ready && now >= pipeline_.deadline()) {
    pipeline_.expire(now, std::chrono::milliseconds(1));
    flush(now);  // what had to wait for a request that is given up
  }
  report({}, arrivals);
}

/// What the pipeline has to say. `answer`: the one that has come, if any.
void Link::report(lock::Answer answer, std::vector<Arrival>& arrivals) {
  for (redis::Pipeline::Arrival& each : pipeline_.take_arrivals()) {
    auto* const none = std::get_if<lock::Unreachable>(&each.content);
    if (none == nullptr && lock::is_release(each.ask.op()) && is_gone(answer)) {
      pipeline_.forget_attempt(each.ask.attempt);
    }
    arrivals.push_back(
        {std::move(each.ask), each.sent, none == nullptr ? std::move(answer) : std::move(*none)});
  }
}

void Link::disconnect() {
  if (state_ == State::ready) clean_ = false;
  ends_.transport->hang_up(connection_, false);
  connection_ = kNoConnection;
  state_ = State::idle;
  connect_deadline_ = lock::kNever;
  pipeline_.fail(no_answer(true));
}

lock::Instant Link::deadline() const {
  return std::min(connect_deadline_, pipeline_.deadline());
}

void Link::end(bool orderly) {
  if (connection_ != kNoConnection) {
    ends_.transport->hang_up(connection_, orderly && state_ == State::ready);
  }
  connection_ = kNoConnection;
  inbox_.clear();
}

}  // namespace redlock::sim
