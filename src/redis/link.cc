// SPDX-License-Identifier: MIT
#include "redis/link.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace redlock::redis {
namespace {

// A stopped server lets requests pile up on both sides. Beyond this only releases are still sent.
constexpr std::size_t kMaxUnanswered = 64;

constexpr std::size_t kChunk = 16 * 1024;

/// What is sent before anything else and must be confirmed before anything else is sent: a server
/// whose default user may write would run a request behind a refused AUTH under the wrong user.
Flight encode_handshake(const Endpoint& endpoint) {
  Flight flight{{}, 0};
  const Credentials& who = endpoint.credentials;
  if (who.given()) {
    flight.wire += who.user.empty() ? encode_command({"AUTH", who.password})
                                    : encode_command({"AUTH", who.user, who.password});
    ++flight.replies;
  }
  if (endpoint.db != 0) {
    flight.wire += encode_command({"SELECT", std::to_string(endpoint.db)});
    ++flight.replies;
  }
  return flight;
}

/// Bytes written from `offset` on, or -1 with errno. With nothing left to write it tells whether
/// the socket is connected: 0, EAGAIN as long as TCP still tries, or why it cannot be.
ssize_t write_from(int fd, std::string_view wire, std::size_t offset) {
  while (true) {
    const ssize_t n = ::send(fd, wire.data() + offset, wire.size() - offset, MSG_NOSIGNAL);
    if (n >= 0 || errno != EINTR) return n;
  }
}

}  // namespace

Link::Link(const Endpoint& endpoint, Timeouts timeouts, std::chrono::milliseconds user_timeout)
    : endpoint_(endpoint),
      timeouts_(timeouts),
      handshake_(encode_handshake(endpoint)),
      dialer_(endpoint, user_timeout) {}

void Link::ask(const lock::Ask& ask, Flight flight, lock::Instant now) {
  if (!lock::is_release(ask.op) && unanswered() >= kMaxUnanswered) {
    arrivals_.push_back({ask, now, too_many_unanswered()});
    return;
  }
  queue_.push_back({ask, std::move(flight), now});
  if (state_ == State::idle) {
    connect(now);
  } else if (state_ == State::ready) {
    queue_.back().deadline = now + timeouts_.request;
    flush(now);
  }
}

void Link::cancel_unsent(lock::AttemptId attempt) {
  // The connection that may be under way goes on being made: the next attempt will want it.
  std::erase_if(queue_, [attempt](const Pending& pending) {
    return pending.ask.attempt == attempt && pending.written == 0;
  });
}

void Link::connect(lock::Instant now) {
  state_ = State::dialing;
  connect_deadline_ = now + timeouts_.connect;
  dialer_.start(now, connect_deadline_);
  dial(now);
}

/// Sends the first flight as soon as there is a socket that takes it.
void Link::dial(lock::Instant now) {
  while (dialer_.socket() >= 0 && !open(now)) {
    if (errno == EAGAIN) return;
    dialer_.refused(errno, now);
  }
  if (state_ == State::dialing && dialer_.failure()) {
    const lock::Unreachable why = *dialer_.failure();
    disconnect(why);
  }
}

/// Tries the first write on the dialer's socket. False with errno if it is not connected (yet). One
/// that was connected and is broken already counts as open: a server that is full says so before it
/// hangs up, and receive() shall find that.
bool Link::open(lock::Instant now) {
  const int fd = dialer_.socket();
  const bool request_first = handshake_.replies == 0 && !queue_.empty();
  const std::string_view wire = request_first ? queue_.front().flight.wire : handshake_.wire;
  ssize_t written = write_from(fd, wire, 0);
  if (written < 0 && (errno == EPIPE || errno == ECONNRESET)) written = 0;
  if (written < 0) return false;
  socket_ = dialer_.take();
  parser_.emplace();
  handshake_answered_ = 0;
  handshake_written_ = 0;
  if (handshake_.replies > 0) {
    state_ = State::authenticating;
    handshake_written_ = static_cast<std::size_t>(written);
    return true;
  }
  if (request_first && written > 0) {
    Pending& first = queue_.front();
    first.written = static_cast<std::size_t>(written);
    first.sent = now;
    sent_.insert(first.ask.attempt);
  }
  become_ready(now);
  return true;
}

void Link::become_ready(lock::Instant now) {
  state_ = State::ready;
  connect_deadline_ = lock::kNever;
  for (Pending& pending : queue_) pending.deadline = now + timeouts_.request;
  flush(now);
}

bool Link::flush_handshake() {
  if (handshake_written_ >= handshake_.wire.size()) return true;
  const ssize_t n = write_from(socket_.get(), handshake_.wire, handshake_written_);
  if (n > 0) handshake_written_ += static_cast<std::size_t>(n);
  return n >= 0 || errno == EAGAIN;
}

void Link::flush(lock::Instant now) {
  for (Pending& pending : queue_) {
    const std::string& wire = pending.flight.wire;
    if (pending.written == wire.size()) continue;
    const ssize_t n = write_from(socket_.get(), wire, pending.written);
    if (n < 0) {
      // A broken connection is left to receive(): what the server said last may still be there.
      return;
    }
    if (pending.written == 0 && n > 0) {
      pending.sent = now;
      pending.deadline = now + timeouts_.request;
      sent_.insert(pending.ask.attempt);
    }
    pending.written += static_cast<std::size_t>(n);
    if (pending.written < wire.size()) return;
  }
}

void Link::receive(lock::Instant now) {
  std::array<char, kChunk> chunk;  // not cleared: it is written before it is read
  while (state_ == State::authenticating || state_ == State::ready) {
    const ssize_t n = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      disconnect(connection_lost(n < 0 ? errno : 0, Fate::maybe_applied));
      return;
    }
    parser_->feed({chunk.data(), static_cast<std::size_t>(n)});
    take_replies(now);
    // Less than there was room for was all; the next turn finds out otherwise.
    if (static_cast<std::size_t>(n) < chunk.size()) return;
  }
}

void Link::take_replies(lock::Instant now) {
  while (state_ == State::authenticating || state_ == State::ready) {
    std::optional<Value> reply = parser_->next();
    if (!reply) {
      if (parser_->broken()) disconnect(not_redis(Fate::maybe_applied));
      return;
    }
    if (state_ == State::authenticating) {
      take_handshake_reply(*reply, now);
    } else {
      take_reply(std::move(*reply));
    }
  }
}

void Link::take_handshake_reply(const Value& reply, lock::Instant now) {
  if (reply.type != Value::Type::status || reply.text != "OK") {
    disconnect(handshake_refused(reply, endpoint_.credentials));
  } else if (++handshake_answered_ == handshake_.replies) {
    become_ready(now);
  }
}

void Link::take_reply(Value reply) {
  if (queue_.empty() || queue_.front().written < queue_.front().flight.wire.size()) {
    // Nobody asked. A server that is full or protected says so on its own, and hangs up.
    disconnect(reply.type == Value::Type::error ? error_reply(reply.text)
                                                : not_redis(Fate::maybe_applied));
    return;
  }
  Pending& pending = queue_.front();
  if (pending.answered++ == 0) {
    arrivals_.push_back({pending.ask, pending.sent, std::move(reply)});
    pending.told = Told::answered;
  }
  if (pending.answered == pending.flight.replies) queue_.pop_front();
}

void Link::report(Pending& pending, lock::Unreachable why) {
  if (pending.told != Told::nothing) return;
  pending.told = Told::timed_out;
  arrivals_.push_back({pending.ask, pending.sent, std::move(why)});
}

void Link::disconnect(const lock::Unreachable& why) {
  state_ = State::idle;
  connect_deadline_ = lock::kNever;
  dialer_.stop();
  socket_.reset();
  parser_.reset();
  for (Pending& pending : queue_) {
    lock::Unreachable told = why;
    told.maybe_applied = why.maybe_applied && pending.written > 0;
    report(pending, std::move(told));
  }
  queue_.clear();
}

void Link::expire(lock::Instant now) {
  if (now >= connect_deadline_) {
    const Step step = state_ == State::authenticating ? Step::authenticating : dialer_.step();
    disconnect(connect_timed_out(endpoint_, step, timeouts_.connect));
    return;
  }
  if (state_ != State::ready) return;
  // What could not even be sent is told as never sent, and so it must not be sent any more. Not so
  // a release: whatever it shall undo lies before it on this connection and may yet be carried out,
  // and a release that comes late harms nobody.
  const auto sendable = [](const Pending& pending) {
    return pending.written > 0 || lock::is_release(pending.ask.op);
  };
  for (Pending& pending : queue_) {
    if (now < pending.deadline) continue;
    lock::Unreachable late = request_timed_out(timeouts_.request);
    late.maybe_applied = sendable(pending);
    report(pending, std::move(late));
  }
  std::erase_if(queue_, [&sendable](const Pending& pending) {
    return pending.told == Told::timed_out && !sendable(pending);
  });
}

std::vector<Link::Arrival> Link::turn(lock::Instant now) {
  if (state_ == State::dialing) {
    dial(now);  // first, lest a connection made in time be given up for the loop's being late
    if (state_ == State::dialing) {
      dialer_.turn(now);
      dial(now);
    }
  } else {
    // A write that fails leaves the reason to be read.
    if (state_ == State::authenticating) flush_handshake();
    if (state_ == State::ready) flush(now);
    receive(now);
  }
  // An answer that is here already beats the deadline it has missed.
  expire(now);
  return std::exchange(arrivals_, {});
}

os::Interest Link::interest() const {
  switch (state_) {
    case State::idle:
      return {};
    case State::dialing:
      return dialer_.interest();
    case State::authenticating:
    case State::ready:
      break;
  }
  return {.fd = socket_.get(), .read = true, .write = has_unwritten()};
}

lock::Instant Link::deadline() const {
  if (!arrivals_.empty()) return lock::Instant::min();
  lock::Instant earliest = connect_deadline_;
  if (state_ == State::dialing) earliest = std::min(earliest, dialer_.deadline());
  for (const Pending& pending : queue_) {
    if (pending.told == Told::nothing) earliest = std::min(earliest, pending.deadline);
  }
  return earliest;
}

std::size_t Link::unanswered() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      queue_, [](const Pending& pending) { return pending.told == Told::timed_out; }));
}

bool Link::has_unwritten() const {
  if (state_ == State::authenticating) return handshake_written_ < handshake_.wire.size();
  return !queue_.empty() && queue_.back().written < queue_.back().flight.wire.size();
}

}  // namespace redlock::redis
