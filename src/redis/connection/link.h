// SPDX-License-Identifier: MIT
//
// The connection to one server. Absent on purpose: which request may be sent (pipeline.h), finding
// the way to the server (dialer.h), TLS (stream.h), and any retry: the caller asks again.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/dialer.h"
#include "redis/connection/handshake.h"
#include "redis/connection/locator.h"
#include "redis/connection/pipeline.h"
#include "redis/connection/stream.h"
#include "redis/connection/timeouts.h"
#include "redis/connection/unread.h"
#include "redis/requests/request.h"
#include "redis/wire/resp.h"
#include "redis/wire/trouble.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

class Errand;

/// One server's ordered connection. It sends the requests in the order of its pipeline, over one
/// socket, and it never sends a request twice, unless the node of a Cluster has answered that it
/// has not carried it out (MOVED, ASK, TRYAGAIN, CLUSTERDOWN). Passive: it never blocks; the caller
/// polls interests() and calls turn().
///
///   idle → locating → dialing → securing → authenticating → ready
///
/// It connects when a request comes, and goes back to idle whenever the connection ends. A server
/// that moves may need several places (redis/connection/locator.h) before one of them becomes
/// ready. If a request times out, the connection stays: the server may still carry the request out,
/// and a later request (its release!) must come after it. Only a server that moves is left if it
/// does not answer, as soon as that does no harm (Pipeline::can_be_left()): another one may have
/// taken its place.
class Link {
 public:
  using Arrival = Pipeline::Arrival;

  /// `endpoint` and `tls` must outlive the link; `tls` is null for an endpoint without TLS.
  /// `key`: as in Locator. `user_timeout` as in Dialer; a command that asks only once may leave it
  /// out.
  Link(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts, std::string key,
       std::chrono::milliseconds user_timeout = std::chrono::seconds(1));
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// To be called before the first request, if a reply may exceed the usual limits.
  void allow(ReplyLimits limits) { limits_ = limits; }

  /// Queues a request and sends as much as can be sent now.
  void ask(const lock::Ask& ask, Flight flight, lock::Instant now);

  /// Sends a flight whose replies nobody waits for. It keeps its order among the requests sent, but
  /// overtakes those that must wait; it may have to wait itself. Without a connection it is
  /// dropped.
  void note(Flight flight, lock::Instant now);

  /// Forgets the notes of which nothing is sent.
  void cancel_notes() { pipeline_.cancel_notes(); }

  /// Forgets the requests of the attempt of which nothing is sent. None of them is answered. A
  /// connection under way stays so: the next attempt will want it.
  void cancel_unsent(lock::AttemptId attempt);

  /// There is a connection over which a request can be sent at once.
  [[nodiscard]] bool ready() const { return state_ == State::ready; }

  /// A request is neither answered to its end nor given up. A subscription is never answered to its
  /// end while the connection lasts.
  [[nodiscard]] bool busy() const { return !pipeline_.empty() || errand_ != nullptr; }

  /// Nobody waits for an answer: each request has one, or the reason why there is none.
  [[nodiscard]] bool all_reported() const { return pipeline_.all_reported(); }

  /// A request was not answered in time, and may yet be.
  [[nodiscard]] bool owes_answers() const { return pipeline_.overdue() > 0; }

  /// The server has read a request and has not answered it yet, within its time, and further
  /// requests came since. If the connection has ended when it answers, it does not read the further
  /// ones. This holds for a Unix socket; to TCP a server can write once more, and reads on, unless
  /// it waits for replicas.
  [[nodiscard]] bool amid_answers() const;

  /// A byte of a request of this attempt was sent (and forget_attempt() was not called since).
  [[nodiscard]] bool ever_sent(lock::AttemptId attempt) const {
    return sent_attempts().contains(attempt);
  }

  /// The attempts of which the server may hold something.
  [[nodiscard]] const std::set<lock::AttemptId>& sent_attempts() const {
    return pipeline_.sent_attempts();
  }

  /// Another process may have sent requests of this attempt.
  void presume_sent(lock::AttemptId attempt) { pipeline_.presume_sent(attempt); }

  /// The server has answered that it holds nothing of this attempt.
  void forget_attempt(lock::AttemptId attempt) { pipeline_.forget_attempt(attempt); }

  /// Where the connection is, or leads to.
  [[nodiscard]] const Endpoint& place() const {
    return locator_.place() != nullptr ? *locator_.place() : endpoint_;
  }

  /// Appends the descriptors that it waits for to `out`.
  void interests(std::vector<os::Interest>& out) const;
  /// Closes the connection without sending anything: it belongs to a forked child now.
  void abandon();

  /// Closes the connection. No request is answered any more.
  void close() noexcept;

  /// When the server's certificate expires; none without TLS or a connection.
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> certificate_expires() const {
    return stream_ ? stream_->certificate_expires() : std::nullopt;
  }

  [[nodiscard]] lock::Instant deadline() const;
  /// Throws if the machine fails. Then the connection is closed, and no request is answered any
  /// more; sent_attempts() still knows every attempt that was sent. The same goes for ask() and
  /// note().
  std::vector<Arrival> turn(lock::Instant now);

 private:
  enum class State { idle, locating, dialing, securing, authenticating, ready };

  void move_on(lock::Instant now);
  void connect(lock::Instant now);
  void approach(lock::Instant now);
  void follow(lock::Instant now);
  Pipeline::Refusal refusal_in(const Value& reply, lock::Instant now);
  void move(lock::Instant now);
  void run_errand(lock::Instant now);
  void turn_errand(lock::Instant now);
  void dial(lock::Instant now);
  bool open(std::size_t index, lock::Instant now);
  void secure(lock::Instant now);
  void become_ready(lock::Instant now);
  void flush(lock::Instant now);
  void flush_handshake();
  void receive(lock::Instant now);
  void take_replies(lock::Instant now);
  void take_handshake_reply(const Value& reply, lock::Instant now);
  void take_reply(Value reply, lock::Instant now);
  void expire(lock::Instant now);
  void hang_up();
  void leave_place(const lock::Unreachable& why, lock::Instant now);
  void disconnect(const lock::Unreachable& why);
  template <class Work>
  void guard(Work work);
  ssize_t write(std::string_view wire);
  [[nodiscard]] bool has_unwritten() const;
  [[nodiscard]] lock::Unreachable why_it_ended(int error) const;
  [[nodiscard]] Step step() const;

  const Endpoint& endpoint_;
  const TlsContext* tls_;
  Timeouts timeouts_;
  Locator locator_;
  Handshake handshake_;
  Dialer dialer_;
  State state_ = State::idle;
  lock::Instant connect_deadline_ = lock::kNever;
  std::optional<Stream> stream_;
  ReplyLimits limits_;
  std::optional<ReplyParser> parser_;
  bool heard_ = false;  ///< the server has sent something over this connection
  Unread unread_;
  std::optional<lock::Unreachable> trouble_;  ///< with a place, on the way
  std::string redirection_;  ///< the latest one that a request was answered with; empty: none
  /// When to repeat the requests that were refused for the moment.
  lock::Instant repeat_at_ = lock::kNever;
  /// The node of a Cluster to which the key is being moved, with the requests that must go there.
  std::unique_ptr<Errand> errand_;
  std::vector<Arrival> from_errand_;
  Pipeline pipeline_;
};

}  // namespace redlock::redis
