// SPDX-License-Identifier: MIT
#include "link.h"

#include <algorithm>

namespace redlock::sim {

namespace {

constexpr std::size_t kMostUnanswered = 64;

lock::Unreachable no_answer(bool maybe_applied) {
  return {.maybe_applied = maybe_applied, .permanent = false, .why = {}};
}

bool is_gone(const lock::Answer& answer) {
  const auto* released = std::get_if<lock::Released>(&answer);
  return (released != nullptr && !released->cooling) ||
         std::holds_alternative<lock::Missing>(answer) ||
         std::holds_alternative<lock::NotMine>(answer);
}

}  // namespace

void Link::begin(const Ends& ends) {
  ends_ = ends;
  state_ = State::idle;
  clean_ = true;
  connection_ = kNoConnection;
  connect_deadline_ = lock::kNever;
  queue_.clear();
  sent_.clear();
  inbox_.clear();
  ready_.clear();
}

bool Link::ever_sent(lock::AttemptId attempt) const {
  return std::find(sent_.begin(), sent_.end(), attempt) != sent_.end();
}

void Link::ask(const lock::Ask& ask, lock::Instant now) {
  if (ask.op == lock::Op::leave_queue) {
    if (state_ != State::ready && queue_.empty()) {
      ready_.push_back({ask, now, no_answer(false)});
      return;
    }
  } else if (lock::is_release(ask.op)) {
    if (ends_.mutation != Mutation::unsent_kept) {
      std::erase_if(queue_, [&](const Pending& pending) {
        return pending.ask.attempt == ask.attempt && !pending.written;
      });
    }
    if (!ever_sent(ask.attempt)) {
      ready_.push_back({ask, now, lock::Missing{}});
      return;
    }
  } else if (queue_.size() >= kMostUnanswered) {
    ready_.push_back({ask, now, no_answer(false)});
    return;
  }
  queue_.push_back({ask, now});
  if (state_ == State::idle) {
    connect(now);
  } else if (state_ == State::ready) {
    write(queue_.back(), now);
  }
}

void Link::join_queue(lock::Ticket ticket, lock::Instant now) {
  if (state_ != State::ready || !queue_.empty()) return;
  queue_.push_back(
      {.ask = {.attempt = lock::kNoAttempt}, .sent = now, .written = true, .note = true});
  ends_.transport->send(connection_, encode_join_queue(ticket, *ends_.context));
}

void Link::connect(lock::Instant now) {
  state_ = State::dialing;
  connect_deadline_ = now + ends_.connect_timeout;
  connection_ = ends_.transport->dial(ends_.client, ends_.server, ends_.session, clean_);
}

void Link::write(Pending& pending, lock::Instant now) {
  pending.written = true;
  pending.sent = now;
  pending.deadline = now + ends_.server_timeout;
  const lock::Ask& ask = pending.ask;
  const bool of_attempt = ask.attempt != lock::kNoAttempt;
  if (of_attempt && !ever_sent(ask.attempt)) sent_.push_back(ask.attempt);
  ends_.transport->send(connection_, encode(ask, *ends_.context, *ends_.tokens));
}

void Link::turn(lock::Instant now, std::vector<Arrival>& arrivals) {
  for (Arrival& arrival : ready_) arrivals.push_back(std::move(arrival));
  ready_.clear();
  for (Inbound& inbound : inbox_) {
    switch (inbound.kind) {
      case Inbound::Kind::connected:
        state_ = State::ready;
        connect_deadline_ = lock::kNever;
        for (Pending& pending : queue_) write(pending, now);
        break;
      case Inbound::Kind::refused:
      case Inbound::Kind::broken:
        disconnect(arrivals);
        break;
      case Inbound::Kind::answer:
        take_answer(std::move(inbound.answer), arrivals);
        break;
    }
  }
  inbox_.clear();
  expire(now, arrivals);
}

void Link::take_answer(lock::Answer answer, std::vector<Arrival>& arrivals) {
  Pending& pending = queue_.front();
  if (pending.note) {
    queue_.erase(queue_.begin());
    return;
  }
  if (lock::is_release(pending.ask.op) && is_gone(answer)) {
    std::erase(sent_, pending.ask.attempt);
  }
  arrivals.push_back({pending.ask, pending.sent, std::move(answer)});
  queue_.erase(queue_.begin());
}

void Link::disconnect(std::vector<Arrival>& arrivals) {
  if (state_ == State::ready) clean_ = false;
  ends_.transport->hang_up(connection_, false);
  connection_ = kNoConnection;
  state_ = State::idle;
  connect_deadline_ = lock::kNever;
  for (const Pending& pending : queue_) {
    if (pending.told == Notice::nothing && !pending.note) {
      arrivals.push_back({pending.ask, pending.sent, no_answer(pending.written)});
    }
  }
  queue_.clear();
}

void Link::expire(lock::Instant now, std::vector<Arrival>& arrivals) {
  if (now >= connect_deadline_) return disconnect(arrivals);
  if (state_ != State::ready) return;
  // Everything is written as soon as it can be: there are no full buffers here.
  for (Pending& pending : queue_) {
    if (now < pending.deadline || pending.told != Notice::nothing) continue;
    pending.told = Notice::timed_out;
    arrivals.push_back({pending.ask, pending.sent, no_answer(true)});
  }
}

lock::Instant Link::deadline() const {
  lock::Instant earliest = connect_deadline_;
  for (const Pending& pending : queue_) {
    if (pending.told == Notice::nothing) earliest = std::min(earliest, pending.deadline);
  }
  return earliest;
}

void Link::end(bool orderly) {
  if (connection_ != kNoConnection)
    ends_.transport->hang_up(connection_, orderly && state_ == State::ready);
  connection_ = kNoConnection;
  inbox_.clear();
}

}  // namespace redlock::sim
