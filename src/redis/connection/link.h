// SPDX-License-Identifier: MIT
//
// The connection to one server. Absent on purpose: which request may be sent (pipeline.h), finding
// the way to the server (dialer.h), TLS (stream.h), and any retry: the caller asks again.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/dialer.h"
#include "redis/connection/locator.h"
#include "redis/connection/pipeline.h"
#include "redis/requests/request.h"
#include "redis/tls/stream.h"
#include "redis/wire/resp.h"
#include "redis/wire/trouble.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

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
/// and a later request (its release!) should come after it. But a proxy may acknowledge everything
/// for a backend that is gone: after two requests in a row without an answer, the next one goes
/// over a new connection (silent_at()). A release that follows its acquire over another connection
/// must leave a tombstone (Pipeline::may_come_late()).
class Link {
 public:
  using Arrival = Pipeline::Arrival;

  /// `endpoint` and `tls` must outlive the link; `tls` is null for an endpoint without TLS.
  /// `key`: as in Locator.
  Link(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts, std::string key);
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

  /// Subscribes once more over the same connection, with these commands: the answers prove the
  /// connection. Without a subscription it does nothing.
  void repeat(std::string wire, lock::Instant now);

  /// Its requests, and the attempts of which the server may hold something.
  [[nodiscard]] Pipeline& requests() { return pipeline_; }
  [[nodiscard]] const Pipeline& requests() const { return pipeline_; }

  /// Forgets the requests of the attempt of which nothing is sent. None of them is answered. A
  /// connection under way stays so: the next attempt will want it.
  void cancel_unsent(lock::AttemptId attempt);

  /// There is a connection over which a request can be sent at once.
  [[nodiscard]] bool ready() const { return state_ == State::ready; }

  /// A request is neither answered to its end nor given up. A subscription is never answered to its
  /// end while the connection lasts.
  [[nodiscard]] bool busy() const { return !pipeline_.empty() || errand_ != nullptr; }

  /// Since the last call it has left a server because Sentinels name another primary.
  bool take_replaced() { return std::exchange(replaced_, false); }

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
  [[nodiscard]] lock::Instant silent_at() const;
  void hang_up();
  void leave_place(lock::Unreachable why, lock::Instant now);
  void disconnect(const lock::Unreachable& why);
  template <class Work>
  void guard(Work work);
  [[nodiscard]] bool has_unwritten() const;
  [[nodiscard]] lock::Unreachable why_it_ended(int error) const;
  [[nodiscard]] Step step() const;

  const Endpoint& endpoint_;
  const TlsContext* tls_;
  Timeouts timeouts_;
  Locator locator_;
  /// The commands before the first request: AUTH, SELECT and the locator's question, as far as the
  /// endpoint needs them. The server must confirm them before any other is sent: a server whose
  /// default user may write would run a request behind a refused AUTH as the wrong user.
  const Flight handshake_;
  std::string_view handshake_rest_;  ///< what of it is not written yet
  unsigned handshake_replies_ = 0;   ///< replies to it
  Dialer dialer_;
  State state_ = State::idle;
  lock::Instant connect_deadline_ = lock::kNever;
  std::optional<Stream> stream_;
  ReplyLimits limits_;
  std::optional<ReplyParser> parser_;
  bool heard_ = false;        ///< the server has sent something over this connection
  lock::Instant heard_at_{};  ///< when it last did
  bool replaced_ = false;     ///< see take_replaced()
  std::optional<lock::Unreachable> trouble_;  ///< with a place, on the way
  std::string redirection_;  ///< the latest one that a request was answered with; empty: none
  /// When to repeat the requests that were refused for the moment.
  lock::Instant repeat_at_ = lock::kNever;
  /// The node of a Cluster that receives the key, and a connection to it, for the few requests that
  /// this node refused with ASK.
  Endpoint receiver_;
  std::unique_ptr<Link> errand_;
  std::vector<Arrival> from_errand_;
  Pipeline pipeline_;
};

}  // namespace redlock::redis
