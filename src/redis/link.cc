// SPDX-License-Identifier: MIT
#include "redis/link.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace redlock::redis {
namespace {

// A stopped server lets requests pile up on both sides. Beyond this only releases are still sent.
constexpr std::size_t kMaxUnanswered = 64;

// A stopped server that wakes up reads 16 KiB, and no more when it finds nobody there to be
// answered. What gives a lock back shall be among that: half of it is left for the end.
constexpr std::size_t kMaxUnread = 8 * 1024;

// Who listens is not flooded: beyond this in one turn the connection ends.
constexpr std::size_t kMostAtOnce = 16;

constexpr std::size_t kReadChunk = 16 * 1024;

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

/// A server that expects TLS and gets something else sends an alert of TLS's, if it says anything.
bool begins_as_tls(std::string_view bytes) {
  return bytes.starts_with("\x15\x03");
}

/// How much of what was written to a Unix socket the other side has not read.
int unread_of(int socket) {
  int size = 0;
  return ::ioctl(socket, SIOCOUTQ, &size) == 0 ? size : 0;
}

/// What takes something of ours away from a server: it is sent however late.
bool takes_away(lock::Op op) {
  return lock::is_release(op) || op == lock::Op::leave_queue;
}

/// What is asked at the end of an attempt, or of a job: it never waits for a server's answers.
bool is_last(lock::Op op) {
  return takes_away(op) || op == lock::Op::mark || op == lock::Op::unmark;
}

}  // namespace

Link::Link(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
           std::chrono::milliseconds user_timeout)
    : endpoint_(endpoint),
      tls_(tls),
      timeouts_(timeouts),
      handshake_(encode_handshake(endpoint)),
      dialer_(endpoint, user_timeout) {}

/// Where the machine fails in the middle of it, the connection is in no known state.
template <class Work>
void Link::guard(Work work) {
  try {
    work();
  } catch (...) {
    break_off();
    throw;
  }
}

void Link::ask(const lock::Ask& ask, Flight flight, lock::Instant now) {
  if (!takes_away(ask.op) && unanswered() >= kMaxUnanswered) {
    arrivals_.push_back({ask, now, too_many_unanswered()});
    return;
  }
  const auto end = is_last(ask.op) ? first_held() : queue_.end();
  const auto added = queue_.insert(end, {ask, std::move(flight), now});
  guard([&] {
    if (state_ == State::idle) {
      connect(now);
    } else if (state_ == State::ready) {
      added->deadline = now + timeouts_.request;
      flush(now);
    }
  });
}

void Link::note(Flight flight, lock::Instant now, Note kind) {
  if (state_ != State::ready || unanswered() >= kMaxUnanswered) return;
  Pending note{{.attempt = lock::kNoAttempt}, std::move(flight), now};
  note.reported = Reported::answered;
  note.note = kind;
  // We may be gone before an acquire that is held back could be sent.
  guard([&] {
    queue_.insert(first_held(), std::move(note));
    flush(now);
  });
}

void Link::cancel_notes() {
  std::erase_if(queue_, [](const Pending& other) { return is_note(other) && other.written == 0; });
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
  for (std::size_t index = 0; index < dialer_.sockets().size();) {
    if (open(index, now)) return;
    if (errno == EAGAIN) {
      ++index;
    } else {
      dialer_.refused(index, errno, now);  // the next one comes in its place
    }
  }
  if (state_ == State::dialing && dialer_.failure()) {
    const lock::Unreachable why = *dialer_.failure();
    disconnect(why);
  }
}

/// Tries the first write on one of the dialer's sockets. False with errno if it is not connected
/// (yet). One that was connected and is broken already counts as open: a server that is full says
/// so before it hangs up, and receive() shall find that.
bool Link::open(std::size_t index, lock::Instant now) {
  const bool request_first = tls_ == nullptr && handshake_.replies == 0 && !queue_.empty();
  std::string_view wire;
  if (tls_ == nullptr) wire = request_first ? queue_.front().flight.wire : handshake_.wire;
  const bool noted = request_first && note_attempt(queue_.front());
  ssize_t written = send_to(dialer_.sockets()[index].get(), wire);
  const int error = errno;
  if (noted && written <= 0) sent_.erase(queue_.front().ask.attempt);
  if (written < 0 && (error == EPIPE || error == ECONNRESET)) written = 0;
  errno = error;
  if (written < 0) return false;
  stream_.emplace(dialer_.take(index), tls_, endpoint_);
  parser_.emplace();
  heard_ = false;
  handshake_answered_ = 0;
  handshake_written_ = 0;
  if (tls_ == nullptr && handshake_.replies > 0) {
    handshake_written_ = static_cast<std::size_t>(written);
  } else if (request_first && written > 0) {
    Pending& first = queue_.front();
    first.written = static_cast<std::size_t>(written);
    first.sent = now;
  }
  has_read_ = false;
  unread_ = unread_of(stream_->fd());
  secure(now);
  return true;
}

void Link::secure(lock::Instant now) {
  state_ = State::securing;
  const Tls::Handshake progress = stream_->handshake();
  if (progress == Tls::Handshake::under_way) return;
  if (progress == Tls::Handshake::failed) {
    const lock::Unreachable why = *stream_->failure();
    disconnect(why);
  } else if (handshake_.replies > 0) {
    state_ = State::authenticating;
    flush_handshake();
  } else {
    become_ready(now);
  }
}

void Link::become_ready(lock::Instant now) {
  state_ = State::ready;
  connect_deadline_ = lock::kNever;
  for (Pending& pending : queue_) pending.deadline = now + timeouts_.request;
  flush(now);
}

void Link::flush_handshake() {
  stream_->send_rest();
  if (handshake_written_ >= handshake_.wire.size()) return;
  const ssize_t n = stream_->write(std::string_view(handshake_.wire).substr(handshake_written_));
  if (n > 0) handshake_written_ += static_cast<std::size_t>(n);
}

/// Before a byte of it is sent: what the server may hold is to be known, even if afterwards there
/// is no memory to note it in. True if it was not known before.
bool Link::note_attempt(const Pending& pending) {
  return !is_of_none(pending) && sent_.insert(pending.ask.attempt).second;
}

void Link::flush(lock::Instant now) {
  stream_->send_rest();
  for (Pending& pending : queue_) {
    const std::string_view wire = pending.flight.wire;
    if (pending.written == wire.size()) continue;
    if (must_wait(pending)) return;
    const bool noted = pending.written == 0 && note_attempt(pending);
    watch_reading();
    const ssize_t n = stream_->write(wire.substr(pending.written));
    unread_ = unread_of(stream_->fd());
    if (noted && n <= 0) sent_.erase(pending.ask.attempt);
    if (n < 0) {
      // A broken connection is left to receive(): what the server said last may still be there.
      return;
    }
    if (pending.written == 0 && n > 0) {
      pending.sent = now;
      pending.deadline = now + timeouts_.request;
    }
    pending.written += static_cast<std::size_t>(n);
    if (pending.written < wire.size()) return;
  }
}

void Link::receive(lock::Instant now) {
  std::array<char, kReadChunk> chunk;  // not cleared: it is written before it is read
  while (state_ == State::authenticating || state_ == State::ready) {
    const ssize_t n = stream_->read(chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      disconnect(why_it_ended(n < 0 ? errno : 0));
      return;
    }
    if (!std::exchange(heard_, true) &&
        begins_as_tls({chunk.data(), static_cast<std::size_t>(n)})) {
      disconnect(wants_tls());
      return;
    }
    parser_->feed({chunk.data(), static_cast<std::size_t>(n)});
    take_replies(now);
    // Less than there was room for was all; the next turn finds out otherwise. Not so with TLS,
    // which gives out one record after the other of what has left the socket already.
    if (static_cast<std::size_t>(n) < chunk.size() && !stream_->secured()) return;
  }
}

/// An acquire is held back while one of another attempt, or its release, is unanswered: of several
/// acquires, each with its release behind it, the last one that a server reads might stay without.
/// And all but what gives a lock back is held back while much is unanswered. (Who only looks may
/// ask for as much as it likes.)
bool Link::must_wait(const Pending& pending) const {
  const bool look = is_of_none(pending) && !is_note(pending);
  if (pending.written > 0 || is_last(pending.ask.op) || look) return false;
  std::size_t unread = 0;
  bool other_attempt = false;
  for (const Pending& other : queue_) {
    if (other.written == 0) continue;
    unread += other.flight.wire.size();
    other_attempt =
        other_attempt || (!is_of_none(other) && other.ask.attempt != pending.ask.attempt);
  }
  if (unread > 0 && unread + pending.flight.wire.size() > kMaxUnread) return true;
  return pending.ask.op == lock::Op::acquire && !is_of_none(pending) && other_attempt;
}

std::deque<Link::Pending>::iterator Link::first_held() {
  return std::ranges::find_if(queue_,
                              [this](const Pending& pending) { return must_wait(pending); });
}

/// Before each write: what the server has read meanwhile does not show afterwards.
void Link::watch_reading() {
  const bool all_answered = queue_.empty() || queue_.front().written == 0;
  has_read_ = !all_answered && (has_read_ || unread_of(stream_->fd()) < unread_);
}

bool Link::amid_answers() const {
  if (endpoint_.kind != Endpoint::Kind::unix_socket || state_ != State::ready) return false;
  if (queue_.size() < 2 || owes_answers()) return false;
  return has_read_ || unread_of(stream_->fd()) < unread_;
}

/// The connection ended with an errno, or, if 0, by the server's closing it.
lock::Unreachable Link::why_it_ended(int error) const {
  if (stream_->failure()) return *stream_->failure();
  if (!heard_) return lost_before_a_word(endpoint_, error);
  return connection_lost(error, Fate::maybe_applied);
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
  const bool endless = pending.flight.replies == Flight::kEndless;
  if (endless && arrivals_.size() >= kMostAtOnce) {
    disconnect(not_redis(Fate::maybe_applied));
    return;
  }
  if (pending.note == Note::echoed && pending.answered == 0) echo_ = reply;
  if (endless || (pending.answered++ == 0 && pending.reported != Reported::answered)) {
    arrivals_.push_back({pending.ask, pending.sent, std::move(reply)});
    pending.reported = Reported::answered;
  }
  if (pending.answered == pending.flight.replies) queue_.pop_front();
}

void Link::report(Pending& pending, lock::Unreachable why) {
  if (pending.reported != Reported::nothing) return;
  pending.reported = Reported::timed_out;
  arrivals_.push_back({pending.ask, pending.sent, std::move(why)});
}

void Link::disconnect(const lock::Unreachable& why) {
  state_ = State::idle;
  connect_deadline_ = lock::kNever;
  dialer_.stop();
  stream_.reset();
  parser_.reset();
  for (Pending& pending : queue_) {
    lock::Unreachable told = why;
    told.maybe_applied = why.maybe_applied && pending.written > 0;
    report(pending, std::move(told));
  }
  queue_.clear();
}

/// Without a word on the connection, which may fail likewise.
void Link::break_off() noexcept {
  state_ = State::idle;
  connect_deadline_ = lock::kNever;
  dialer_.stop();
  abandon();
  parser_.reset();
  queue_.clear();
}

void Link::abandon() {
  if (stream_) stream_->abandon();
  stream_.reset();
}

void Link::expire(lock::Instant now) {
  if (now >= connect_deadline_) {
    disconnect(connect_timed_out(endpoint_, step(), timeouts_.connect));
    return;
  }
  if (state_ != State::ready) return;
  // What could not even be sent is told as never sent, and so it must not be sent any more. Not so
  // a release: whatever it shall undo lies before it on this connection and may yet be carried out,
  // and a release that comes late harms nobody.
  const auto sendable = [](const Pending& pending) {
    return pending.written > 0 || takes_away(pending.ask.op);
  };
  for (Pending& pending : queue_) {
    if (now < pending.deadline) continue;
    lock::Unreachable late = request_timed_out(timeouts_.request);
    late.maybe_applied = sendable(pending);
    report(pending, std::move(late));
  }
  std::erase_if(queue_, [&sendable](const Pending& pending) {
    return pending.reported == Reported::timed_out && !sendable(pending);
  });
}

std::vector<Link::Arrival> Link::turn(lock::Instant now) {
  guard([&] { move_on(now); });
  return std::exchange(arrivals_, {});
}

void Link::move_on(lock::Instant now) {
  if (state_ == State::dialing) {
    dial(now);  // first, lest a connection made in time be given up for the loop's being late
    if (state_ == State::dialing) {
      dialer_.turn(now);
      dial(now);
    }
  } else {
    if (state_ == State::securing) secure(now);
    // A write that fails leaves the reason to be read.
    if (state_ == State::authenticating) flush_handshake();
    if (state_ == State::ready) flush(now);
    receive(now);
  }
  // An answer that is here already beats the deadline it has missed.
  expire(now);
}

void Link::interests(std::vector<os::Interest>& out) const {
  if (state_ == State::dialing) {
    dialer_.interests(out);
  } else if (state_ != State::idle) {
    out.push_back({.fd = stream_->fd(), .read = true, .write = has_unwritten()});
  }
}

lock::Instant Link::deadline() const {
  if (!arrivals_.empty()) return lock::Instant::min();
  lock::Instant earliest = connect_deadline_;
  if (state_ == State::dialing) earliest = std::min(earliest, dialer_.deadline());
  for (const Pending& pending : queue_) {
    if (pending.reported == Reported::nothing) earliest = std::min(earliest, pending.deadline);
  }
  return earliest;
}

std::size_t Link::unanswered() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      queue_, [](const Pending& pending) { return pending.reported == Reported::timed_out; }));
}

Step Link::step() const {
  if (state_ == State::securing) return Step::securing;
  return state_ == State::authenticating ? Step::authenticating : dialer_.step();
}

bool Link::has_unwritten() const {
  if (stream_->has_rest()) return true;
  if (state_ == State::securing) return false;
  if (state_ == State::authenticating) return handshake_written_ < handshake_.wire.size();
  const auto next = std::ranges::find_if(
      queue_, [](const Pending& pending) { return pending.written < pending.flight.wire.size(); });
  return next != queue_.end() && !must_wait(*next);
}

}  // namespace redlock::redis
