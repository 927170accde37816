// SPDX-License-Identifier: MIT
//
// The connection to one server. Absent on purpose: which request may be sent (pipeline.h), finding
// the way to the server (dialer.h), TLS (stream.h), and any retry: the caller asks again.
#pragma once

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
/// socket, and never sends a request twice, unless the node of a Cluster has answered that it has
/// not carried it out (MOVED, ASK, TRYAGAIN, CLUSTERDOWN), the server has become a replica, or does
/// not accept our certificate, or has answered a script's hash with an error. Passive: it never
/// blocks; the caller polls interests() and calls turn().
///
///   idle → locating → dialing → securing → authenticating → ready
///
/// It connects when a request comes. A server that moves may need several places (locator.h) before
/// one becomes ready. If a request times out, the connection stays: the server may still carry the
/// request out, and its release should come after it; but see silent_at(). A release that follows
/// its acquire over another connection must leave a tombstone (Pipeline::may_come_late()).
class Link {
 public:
  using Arrival = Pipeline::Arrival;

  /// `tls` (null without TLS) must outlive the link. `key`: as for Locator::question().
  Link(Endpoint endpoint, const TlsContext* tls, Timeouts timeouts, std::string_view key);

  /// Before the first request, if a reply may exceed the usual limits.
  void allow(ReplyLimits limits) { limits_ = limits; }

  /// Queues a request and sends as much as can be sent now.
  void ask(const lock::Ask& ask, Flight flight, lock::Instant now);

  /// Sends a flight whose replies nobody waits for, ahead of the requests that must wait; it may
  /// have to wait itself. Without a connection it is dropped.
  void note(Flight flight, lock::Instant now);

  /// Its requests, and the attempts that may have left something on the server.
  [[nodiscard]] Pipeline& requests() { return pipeline_; }
  [[nodiscard]] const Pipeline& requests() const { return pipeline_; }

  /// As Pipeline::cancel_unsent(). Does not cancel a pending connect.
  void cancel_unsent(lock::AttemptId attempt);

  /// There is a connection over which a request can be sent immediately.
  [[nodiscard]] bool ready() const { return state_ == State::ready; }

  /// An acquire by hash was carried out over this connection: our user may call scripts so.
  [[nodiscard]] bool takes_hashes() const { return takes_hashes_; }

  /// The server has carried out a request of ours, over any connection.
  [[nodiscard]] bool served() const { return served_; }

  /// A request is neither answered nor given up; a subscription is not while its connection lasts.
  [[nodiscard]] bool busy() const { return !pipeline_.empty() || errand_ != nullptr; }

  /// Since the last call it has left a server that answers nothing, or that is not the primary any
  /// more by the Sentinels: other connections to that server are of no use either.
  bool take_lost() { return std::exchange(lost_, false); }

  [[nodiscard]] const Endpoint& place() const {
    return locator_.place() != nullptr ? *locator_.place() : endpoint_;
  }

  /// If the connection ended now, the server might drop requests that it has not read: over a Unix
  /// socket it stops to read once it cannot deliver an answer. If it has read none of them, it will
  /// read all of them together, and answer then.
  [[nodiscard]] bool loses_requests() const {
    return stream_ && stream_->is_local() && !all_unread_ && !pipeline_.empty();
  }

  void interests(std::vector<os::Interest>& out) const;
  /// Ends the connection. No request is answered any more.
  void end();
  /// Closes the connection without sending anything: it may belong to a forked child now. No
  /// request is answered any more.
  void close() noexcept;

  /// When the server's certificate expires, over a connection with TLS.
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> certificate_expires() const {
    return stream_ ? stream_->certificate_expires() : std::nullopt;
  }

  [[nodiscard]] lock::Instant deadline() const;
  /// This, ask() and note() throw if the machine fails. Then the connection is closed, and no
  /// request is answered any more; sent_attempts() still knows every attempt that was sent.
  std::vector<Arrival> turn(lock::Instant now);

 private:
  enum class State { idle, locating, dialing, securing, authenticating, ready };

  /// The bytes of the flight, as they go to this server.
  [[nodiscard]] std::string rendered(Flight& flight) const {
    flight.undeclared = flight.undeclared || !declares_more_;
    return render(flight, endpoint_.kind == Endpoint::Kind::cluster || flight.asking);
  }
  void move_on(lock::Instant now);
  void approach(lock::Instant now);
  void follow(lock::Instant now);
  Pipeline::Refusal refusal_in(const Value& reply, bool has_form, lock::Instant now);
  void send_refused_in_full(bool undeclared);
  void move(lock::Instant now);
  void run_errand(lock::Instant now);
  std::vector<Arrival> turn_errand(lock::Instant now);
  void dial_again(lock::Instant now);
  bool renew_password();
  void dial(lock::Instant now);
  void secure(lock::Instant now);
  void become_ready(lock::Instant now);
  void flush(lock::Instant now);
  void receive(lock::Instant now);
  void take_replies(lock::Instant now);
  void take_handshake_reply(const Value& reply, lock::Instant now);
  void take_reply(Value reply, lock::Instant now);
  void expire(lock::Instant now);
  [[nodiscard]] lock::Instant silent_at() const;
  void hang_up();
  void lose(const lock::Unreachable& why, lock::Instant now);
  void leave_place(lock::Unreachable why, lock::Instant now);
  void disconnect(lock::Unreachable why);
  template <class Work>
  void guard(Work work);
  [[nodiscard]] Step step() const;

  Endpoint endpoint_;  ///< only its password changes
  const TlsContext* tls_;
  Timeouts timeouts_;
  Locator locator_;
  /// AUTH, SELECT and the locator's question, as far as the endpoint needs them. The server must
  /// confirm them before the first request is sent: after a refused AUTH, a server whose default
  /// user may write would run it as the wrong user.
  Flight handshake_;
  const std::optional<Command> question_;  ///< the locator's
  std::size_t handshake_replies_ = 0;      ///< replies to it
  Dialer dialer_;
  State state_ = State::idle;
  std::optional<Stream> stream_;
  ReplyLimits limits_;
  std::optional<ReplyParser> parser_;
  bool takes_hashes_ = false;
  bool declares_more_ = true;  ///< Command::more_keys: it has not refused them
  bool served_ = false;        ///< see served()
  bool dialed_again_ = false;  ///< see dial_again(); and it has carried out nothing since
  bool heard_ = false;         ///< the server has sent something over this connection
  lock::Instant heard_at_{};   ///< when it last did
  bool all_unread_ = false;    ///< of a Unix socket: the server has read no unanswered request
  int unread_ = 0;             ///< Stream::unread() after the last write
  bool lost_ = false;          ///< see take_lost()
  std::string redirection_;    ///< the latest one that answered a request, or empty
  lock::Instant repeat_at_ = lock::kNever;  ///< the requests that were refused for the moment
  /// To the node of a Cluster to which the slot of the key moves, for requests refused with ASK.
  std::unique_ptr<Link> errand_;
  Pipeline pipeline_;
};

}  // namespace redlock::redis
