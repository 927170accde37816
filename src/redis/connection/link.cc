// SPDX-License-Identifier: MIT
#include "redis/connection/link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

namespace redlock::redis {

Link::Link(Endpoint endpoint, const TlsContext* tls, Timeouts timeouts, std::string_view key)
    : endpoint_(std::move(endpoint)),
      tls_(tls),
      timeouts_(timeouts),
      locator_(endpoint_, tls, timeouts),
      question_(locator_.question(key)),
      dialer_(timeouts.acknowledge) {
  handshake_ = encode_handshake(endpoint_, question_);
}

/// If the machine fails in the middle of the work, the state of the connection is unknown.
template <class Work>
void Link::guard(Work work) {
  try {
    work();
  } catch (...) {
    close();
    throw;
  }
}

void Link::ask(const lock::Ask& ask, Flight flight, lock::Instant now) {
  std::string wire = rendered(flight);
  Pipeline::Pending& added = pipeline_.add(ask, std::move(flight), std::move(wire), now);
  guard([&] {
    if (state_ == State::idle) {
      dialed_again_ = false;
      locator_.start(now, now + timeouts_.connect);
      approach(now);
    } else if (state_ == State::ready) {
      added.deadline = now + timeouts_.request;
      flush(now);
      if (ask.op() == lock::Op::renew || ask.op() == lock::Op::acquire) locator_.ask_again(now);
    }
  });
}

void Link::note(Flight flight, lock::Instant now) {
  if (state_ != State::ready) return;
  std::string wire = rendered(flight);
  pipeline_.add_note(std::move(flight), std::move(wire), now);
  guard([&] { flush(now); });
}

/// Connects to the place, as soon as it is known.
void Link::approach(lock::Instant now) {
  state_ = State::locating;
  if (locator_.failure()) {
    leave_place(*locator_.failure(), now);
  } else if (locator_.place() != nullptr) {
    state_ = State::dialing;
    dialer_.start(*locator_.place(), now, locator_.place_deadline());
    dial(now);
  }
}

void Link::cancel_unsent(lock::AttemptId attempt) {
  pipeline_.cancel_unsent(attempt);
  if (errand_) errand_->cancel_unsent(attempt);
}

/// The server has carried out none of the requests that it has not answered, and may do so if we
/// come again: with another password or certificate, or since its name leads elsewhere.
void Link::dial_again(lock::Instant now) {
  dialed_again_ = true;
  hang_up();
  pipeline_.restore_sent();
  pipeline_.set_deadlines(lock::kNever);  // until become_ready()
  locator_.start(now, now + timeouts_.connect);
  approach(now);
}

/// Only after the server has refused the password that we know: a file system may hang. Returns
/// whether the file has another one now.
bool Link::renew_password() {
  Credentials& who = endpoint_.credentials;
  const std::string password = who.file.empty() ? std::string() : read_password(who.file);
  if (password.empty() || password == who.password) return false;
  who.password = password;
  handshake_ = encode_handshake(endpoint_, question_);
  return true;
}

void Link::dial(lock::Instant now) {
  os::Fd socket = dialer_.turn(now);
  if (!socket) {
    if (dialer_.failure()) leave_place(*dialer_.failure(), now);
    return;
  }
  stream_.emplace(std::move(socket), tls_, *locator_.place());
  parser_.emplace(limits_);
  heard_ = false;
  handshake_replies_ = 0;
  secure(now);
}

void Link::secure(lock::Instant now) {
  state_ = State::securing;
  const Stream::Handshake progress = stream_->handshake();
  if (progress == Stream::Handshake::under_way) return;
  if (progress == Stream::Handshake::failed) {
    lose(*stream_->failure(), now);
  } else if (!handshake_.commands.empty()) {
    state_ = State::authenticating;
    // A new socket takes it as a whole. If the connection is broken, receive() finds the reason.
    static_cast<void>(stream_->write(rendered(handshake_)));
  } else {
    become_ready(now);
  }
}

void Link::become_ready(lock::Instant now) {
  state_ = State::ready;
  locator_.arrive();
  pipeline_.set_deadlines(now + timeouts_.request);
  flush(now);
}

void Link::flush(lock::Instant now) {
  stream_->send_rest();
  if (errand_) return;  // nothing begins before it is done
  while (Pipeline::Pending* const next = pipeline_.next_to_send()) {
    const bool begins = next->written == 0;
    const bool alone = begins && pipeline_.is_first(*next);
    all_unread_ = alone || (all_unread_ && unread_ > 0 && stream_->unread() == unread_);
    const ssize_t n = stream_->write(next->rest());
    unread_ = stream_->unread();
    pipeline_.sent(*next, n > 0 ? static_cast<std::size_t>(n) : 0, now);
    const bool gets_time = next->refusal != Pipeline::Refusal::for_the_moment;
    if (begins && n > 0 && gets_time) next->deadline = now + timeouts_.request;
    // A broken connection is left to receive(): the server's last reply may still be there.
    if (!next->rest().empty()) return;
  }
}

void Link::receive(lock::Instant now) {
  std::array<char, 16 * 1024> chunk;  // not cleared: it is written before it is read
  while (state_ == State::authenticating || state_ == State::ready) {
    const ssize_t n = stream_->read(chunk);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      const int error = n < 0 ? errno : 0;  // 0: the server closed it
      return lose(stream_->failure() ? *stream_->failure()
                  : heard_           ? connection_lost(error)
                                     : lost_before_a_word(*locator_.place(), error),
                  now);
    }
    heard_at_ = now;
    const std::string_view bytes(chunk.data(), static_cast<std::size_t>(n));
    // A server that expects TLS and gets something else sends a TLS alert, if it sends anything.
    if (!std::exchange(heard_, true) && bytes.starts_with("\x15\x03")) {
      return leave_place({false, true,
                          "speaks TLS on this port; write rediss://, or give its port for plain "
                          "text"},
                         now);
    }
    parser_->feed(bytes);
    take_replies(now);
    // Fewer bytes than there was room for were all of them, except with TLS: it returns one record
    // after another that has left the socket already.
    if (!stream_ || (bytes.size() < chunk.size() && tls_ == nullptr)) return;
  }
}

void Link::take_replies(lock::Instant now) {
  while (state_ == State::authenticating || state_ == State::ready) {
    std::optional<Value> reply = parser_->next();
    if (!reply) {
      if (parser_->broken()) leave_place(not_redis(Fate::maybe_applied), now);
      return;
    }
    if (state_ == State::authenticating) {
      take_handshake_reply(*reply, now);
    } else {
      take_reply(std::move(*reply), now);
    }
  }
}

void Link::take_handshake_reply(const Value& reply, lock::Instant now) {
  const bool last = ++handshake_replies_ == handshake_.replies();
  if (last && endpoint_.moves()) {
    if (locator_.is_confirmed_by(reply, now)) {
      become_ready(now);
    } else {
      hang_up();
      approach(now);
    }
  } else if (reply.type != Value::Type::status || reply.text != "OK") {
    const lock::Unreachable why = handshake_refused(reply, endpoint_.credentials);
    if (!why.permanent) return leave_place(why, now);
    if (renew_password()) return dial_again(now);
    disconnect(locator_.at_place(why));  // no other node would take this password
  } else if (last) {
    become_ready(now);
  }
}

void Link::take_reply(Value reply, lock::Instant now) {
  const bool error = reply.type == Value::Type::error;
  const bool hashed = pipeline_.hashed();
  const bool is_answer = pipeline_.awaits_answer();
  const bool no_key = pipeline_.declares_more() && is_about_keys(reply);
  std::optional<Flight> later;  // this command in full, if it goes with a request
  if (error && (hashed || no_key) && !is_answer) later = pipeline_.next_command();
  const Pipeline::Refusal refusal = refusal_in(reply, hashed || no_key, now);
  if (hashed) takes_hashes_ = !error;
  if (no_key && !is_momentary(reply)) declares_more_ = false;
  if (refusal == Pipeline::Refusal::redirected) {
    redirection_ = reply.text;
  } else if (is_answer && !pipeline_.is_refusing()) {
    const bool demoted = !endpoint_.moves() && served_ && is_of_replica(reply);
    if (demoted && !dialed_again_) {
      lost_ = true;
      return dial_again(now);
    }
    if (demoted || (endpoint_.moves() && refusal == Pipeline::Refusal::none)) {
      if (auto why = outdated(reply)) return disconnect(locator_.at_place(std::move(*why)));
    }
    locator_.confirm();
    dialed_again_ = false;
    served_ = served_ || (reply.type != Value::Type::error && !is_of_replica(reply));
  }
  if (!pipeline_.take_reply(reply, refusal)) {
    // A server that is full or protected sends an error unasked, and hangs up.
    disconnect(error ? error_reply(reply.text) : not_redis(Fate::maybe_applied));
  } else if (pipeline_.has_refused()) {
    send_refused_in_full(no_key);
    follow(now);
  } else if (later) {
    // A command after the request, which is not answered before the last of its commands.
    note(std::move(*later), now);
  }
}

void Link::hang_up() {
  takes_hashes_ = false;
  declares_more_ = true;
  if (stream_ && !heard_) dialer_.pass_over();
  dialer_.stop();
  stream_.reset();
  parser_.reset();
}

/// The connection has ended. Over TLS, before the server has answered anything, a certificate may
/// not have been accepted: if it is replaced, the connection is tried once more.
void Link::lose(const lock::Unreachable& why, lock::Instant now) {
  const bool unheard = tls_ != nullptr && !heard_ && !dialed_again_;
  // A permanent trouble says that the server has carried out nothing.
  const bool unused = why.permanent || state_ != State::ready;
  if (unheard && tls_->read_again() && unused) return dial_again(now);
  leave_place(why, now);
}

/// If we were only on the way to this place, there may be another one.
void Link::leave_place(lock::Unreachable why, lock::Instant now) {
  why = locator_.at_place(std::move(why));
  if (state_ == State::ready) return disconnect(why);
  hang_up();
  if (const auto trouble = locator_.leave(why, now)) return disconnect(*trouble);
  approach(now);
}

void Link::disconnect(lock::Unreachable why) {
  // What keeps us from a connection to a server that served us may change back.
  if (state_ != State::ready || !heard_) why.permanent = why.permanent && !served_;
  state_ = State::idle;
  hang_up();
  locator_.stop();
  pipeline_.fail(why);
}

// Sends nothing over the connection: after a failure of the machine, that may fail likewise.
void Link::close() noexcept {
  if (errand_) errand_->close();
  locator_.close();
  if (stream_) stream_->abandon();
  end();
}

void Link::end() {
  state_ = State::idle;
  errand_.reset();
  locator_.stop();
  hang_up();
  pipeline_.clear();
}

void Link::expire(lock::Instant now) {
  if (state_ == State::ready) {
    pipeline_.expire(now, timeouts_.request);
    if (pipeline_.has_refused()) {
      follow(now);
    } else if (now >= silent_at()) {
      // The next request connects again, and looks for the successor of a server that moves.
      lost_ = true;
      dialer_.pass_over();
      disconnect(locator_.at_place(request_timed_out(timeouts_.request)));
    }
  } else if (now >= locator_.place_deadline()) {
    leave_place(connect_timed_out(place(), step(), timeouts_.connect), now);
  }
}

/// Two requests in a row have timed out (one, if the server may have moved, or none can follow),
/// and nothing has come for as long as a new connection may take: a server that is only slow is
/// still heard.
lock::Instant Link::silent_at() const {
  const bool once = endpoint_.moves() || pipeline_.subscribes();
  if (pipeline_.overdue() < (once ? 1 : 2)) return lock::kNever;
  return std::max(heard_at_, pipeline_.waits_since()) + timeouts_.connect;
}

std::vector<Link::Arrival> Link::turn(lock::Instant now) {
  std::vector<Arrival> arrivals;
  guard([&] {
    if (errand_) arrivals = turn_errand(now);
    move_on(now);
  });
  std::ranges::move(pipeline_.take_arrivals(), std::back_inserter(arrivals));
  return arrivals;
}

void Link::move_on(lock::Instant now) {
  if (state_ == State::locating) {
    locator_.turn(now);
    approach(now);
  } else if (state_ == State::dialing) {
    dial(now);
  } else {
    if (state_ == State::securing) secure(now);
    // If a write fails, reading finds the reason.
    if (state_ == State::authenticating) stream_->send_rest();
    if (state_ == State::ready) flush(now);
    receive(now);
  }
  // An answer that is here already counts, even after its deadline. What waited for it goes out.
  if (state_ == State::ready) flush(now);
  expire(now);
  if (state_ != State::ready) return;
  locator_.turn(now);
  if (!locator_.superseded()) return;
  lost_ = true;
  // The next request goes to the new primary.
  disconnect(
      locator_.at_place({.why = "is not the primary any more: the Sentinels name another server"}));
}

void Link::interests(std::vector<os::Interest>& out) const {
  if (errand_) errand_->interests(out);
  locator_.interests(out);
  if (state_ == State::dialing) {
    dialer_.interests(out);
  } else if (stream_) {
    const bool may_send = state_ == State::ready && !errand_ && pipeline_.can_send();
    out.push_back({.fd = stream_->fd(), .read = true, .write = stream_->has_rest() || may_send});
  }
}

lock::Instant Link::deadline() const {
  lock::Instant earliest =
      std::min({locator_.deadline(), dialer_.deadline(), pipeline_.deadline()});
  if (errand_) earliest = std::min(earliest, errand_->deadline());
  if (state_ != State::ready) return earliest;
  if (pipeline_.has_refused() && pipeline_.drained() && !errand_ && redirection_.empty()) {
    earliest = std::min(earliest, repeat_at_);
  }
  return std::min(earliest, silent_at());
}

Step Link::step() const {
  if (state_ == State::locating) return Step::locating;
  if (state_ == State::securing) return Step::securing;
  return state_ == State::authenticating ? Step::authenticating : dialer_.step();
}

}  // namespace redlock::redis
