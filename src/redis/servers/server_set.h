// SPDX-License-Identifier: MIT
//
// The configured servers as voters on one lock, and as places where we wait for it. Absent on
// purpose: what follows from a vote, when to join the queue (lock/), requests (redis/requests/).
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "lock/effect.h"
#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"
#include "redis/requests/request.h"
#include "redis/tls/context.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// Subscribes to a channel on one server, over a connection of its own: a connection with a
/// subscription takes no other requests. Passive, as Link is; it has no deadline while it waits for
/// a message, and never tries again by itself.
///
/// In a Cluster it subscribes twice: to the messages for the nodes that have the slot, and to those
/// for all nodes, which a sender uses if nobody hears one of the former. When the slot moves to
/// another node, the server ends the first subscription, and we subscribe there.
class Subscriber {
 public:
  /// The arguments as for Link; a Cluster publishes messages where `key` is.
  Subscriber(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts, std::string key,
             std::string channel);

  /// Subscribes, unless it has done so or is about to, or the server has refused it once, and not
  /// only for the moment.
  void subscribe(lock::Instant now);

  /// Messages are published at `place` from now on: leaves a subscription that is elsewhere. The
  /// next subscribe() makes it there.
  void follow(const Endpoint& place);

  /// Messages are published elsewhere, or the connection is of no use: subscribes over a new one.
  void move(lock::Instant now);

  /// It has asked for the subscription and has neither got it nor failed.
  [[nodiscard]] bool begins() const { return link_ && !unanswered_.empty(); }

  void interests(std::vector<os::Interest>& out) const {
    if (link_) link_->interests(out);
  }
  [[nodiscard]] lock::Instant deadline() const { return link_ ? link_->deadline() : lock::kNever; }

  /// The messages that came, untrusted, and cut to 1024 bytes; an empty one: from now on we miss
  /// nothing. A failure is not reported: subscribe() tries again.
  std::vector<std::string> turn(lock::Instant now);

  /// As Link::close().
  void close();

 private:
  [[nodiscard]] bool says_that_slot_moved(const Link::Arrival& arrival) const;
  std::optional<std::string> read(const Link::Arrival& arrival);
  std::optional<std::string> take_answer(bool refused);
  void follow_slot(lock::Instant now);

  std::string channel_;
  std::deque<std::string_view> commands_;    ///< none of them was refused yet
  std::deque<std::string_view> unanswered_;  ///< of these, over this connection
  bool confirmed_ = false;                   ///< over this connection, and so said
  std::optional<lock::Instant> followed_;    ///< when we last followed the slot to its new node
  std::optional<Link> link_;                 ///< none once the server has refused
};

/// A message on a channel to which we subscribe: for the holder of a lock, or for a waiter.
struct Notice {
  lock::ServerIndex server;
  std::string text;  ///< as of Subscriber::turn()
};

/// One channel on every server: a process that must not use the connections of the votes may still
/// subscribe. Passive, as Link is.
class Subscribers {
 public:
  /// The next server; the arguments as for Subscriber.
  void add(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
           const std::string& key, const std::string& channel) {
    subscribers_.emplace_back(endpoint, tls, timeouts, key, channel);
  }
  [[nodiscard]] bool empty() const { return subscribers_.empty(); }

  /// Subscribes wherever it has not done so yet.
  void subscribe(lock::Instant now) {
    for (Subscriber& subscriber : subscribers_) subscriber.subscribe(now);
  }

  /// As Subscriber::follow() and move(), for one server.
  void follow(lock::ServerIndex server, const Endpoint& place) {
    if (!empty()) subscribers_[server].follow(place);
  }
  void move(lock::ServerIndex server, lock::Instant now) {
    if (!empty()) subscribers_[server].move(now);
  }

  /// Each server has confirmed its subscription, or cannot be used for the moment.
  [[nodiscard]] bool settled() const {
    return std::ranges::none_of(subscribers_, &Subscriber::begins);
  }

  void interests(std::vector<os::Interest>& out) const {
    for (const Subscriber& subscriber : subscribers_) subscriber.interests(out);
  }
  [[nodiscard]] lock::Instant deadline() const {
    lock::Instant earliest = lock::kNever;
    for (const Subscriber& each : subscribers_) earliest = std::min(earliest, each.deadline());
    return earliest;
  }

  /// Moves every connection on without blocking, and keeps the notices that came for take().
  void turn(lock::Instant now) {
    for (lock::ServerIndex server = 0; server < subscribers_.size(); ++server) {
      for (std::string& text : subscribers_[server].turn(now)) {
        notices_.push_back({server, std::move(text)});
      }
    }
  }
  std::vector<Notice> take() { return std::exchange(notices_, {}); }

  /// As Link::close().
  void close() {
    for (Subscriber& subscriber : subscribers_) subscriber.close();
    subscribers_.clear();
  }

 private:
  std::deque<Subscriber> subscribers_;  ///< a deque, since a Subscriber cannot move
  std::vector<Notice> notices_;
};

/// Performs the effects of lock/effect.h that concern servers, over one ordered connection per
/// server for the requests, and others for messages. Nothing here blocks, and no server waits for
/// another. Passive: the caller polls interests() and calls turn().
class ServerSet {
 public:
  /// `holder`: describes us as JSON, for each round of requests for the lock. Reads the files that
  /// `tls` names, if a server speaks TLS. Throws Error (78) if they are of no use.
  ServerSet(std::vector<Endpoint> servers, LockContext lock, std::function<std::string()> holder,
            Timeouts timeouts, const TlsSettings& tls);
  ServerSet(const ServerSet&) = delete;
  ServerSet& operator=(const ServerSet&) = delete;

  /// Queues the request, and sends it if possible; connects if need be. turn() returns its reply.
  /// A release also forgets the unsent requests of its attempt: those get no reply. If nothing of
  /// the attempt was ever sent there, it is answered Missing without asking the server. The first
  /// Op::leave_queue ends the subscriptions of join_queue(); it is answered Unreachable if there is
  /// no connection and nothing else to send.
  void ask(const lock::Ask& ask, lock::Instant now);

  /// An attempt of another process, known by its token: it may be on every server. A process that
  /// renews that lock receives a notice of its release.
  void adopt(lock::AttemptId attempt, const std::string& token);

  /// Subscribes to the notices for the holder of that attempt's lock, on every server where it has
  /// not done so yet. For one attempt only.
  void subscribe(lock::AttemptId attempt, lock::Instant now);

  /// The subscriptions of subscribe(), and the notices for the holder that the latest turn()
  /// received. A process that must not touch the other connections yet may use them alone.
  Subscribers& subscribers() { return holder_notices_; }

  /// Puts us into the queue with this ticket (unless it is 0) on every server that is connected and
  /// answers, and subscribes to our wake-ups wherever it has not done so yet. `early`: also to the
  /// channel on which Redisson announces an unlock, if the lock is for both.
  void join_queue(lock::Ticket ticket, bool early, lock::Instant now);

  /// The wake-ups that the latest turn() received; kUnlocked stands for those by Redisson. An empty
  /// text comes once from each server: from now on we miss nothing there.
  std::vector<Notice> take_wake_ups(lock::Instant now);

  /// Writes a line into the lock's log on every server that is connected, immediately or with the
  /// leaves of its attempt. No answer is reported. `event`, `data`: as for encode_log().
  void log(const lock::Log& line, std::string_view event, std::string_view data, lock::Instant now);

  /// Describes the hold that the leaves from now on make of the lock, as JSON.
  void describe_hold(std::string record) { lock_.hold_json = std::move(record); }

  /// Tells every server that has answered all requests that a run on `host` gave up, unless nothing
  /// is logged. Must be the last request: over a Unix socket, a server that writes its answer to a
  /// closed socket drops what comes after it. Reports nothing. `host`, `data`: see encode_refuse().
  void note_refusal(std::string_view host, std::string_view data, lock::Instant now);

  void interests(std::vector<os::Interest>& out) const;
  /// When to call turn(); a past instant if replies are ready.
  [[nodiscard]] lock::Instant deadline() const;

  /// Moves everything on without blocking, and returns the replies that came, in their order.
  std::vector<lock::Reply> turn(lock::Instant now);

  /// Leaves every queue and releases whatever a server may hold of any attempt, after the machine
  /// has failed. The replies are of no use to a session.
  void give_back_all(lock::Instant now);

  /// A server may hold something of an attempt of ours.
  [[nodiscard]] bool owes() const;

  /// A server has not answered all requests yet, lines for the log among them, and is in time. A
  /// server that cannot send a reply because the process has ended does not read the rest.
  [[nodiscard]] bool awaits_replies() const;

  /// As Link::loses_requests(), for any of them.
  [[nodiscard]] bool loses_requests() const {
    return std::ranges::any_of(links_, &Link::loses_requests);
  }

  /// Closes every connection without sending anything: they belong to a forked child now.
  void drop_connections();

  /// The lock's token in an attempt that was asked for, 40 hex digits.
  [[nodiscard]] const std::string& token(lock::AttemptId attempt) const {
    return secrets_.at(attempt).token;
  }

  [[nodiscard]] std::size_t size() const { return endpoints_.size(); }

 private:
  const Secrets& secrets_of(lock::AttemptId attempt, std::size_t slot = 0);
  /// Null without TLS.
  [[nodiscard]] const TlsContext* tls_for(lock::ServerIndex server) const {
    return endpoints_.at(server).tls ? &*tls_ : nullptr;
  }
  Flight encode(const lock::Ask& ask);
  [[nodiscard]] Flight for_key(Flight flight) const {
    if (lock_.redisson) flight.redisson_key = lock_.lock_key;
    return flight;
  }
  void leave_queue(const lock::Ask& ask, lock::Instant now);
  void open(Subscribers& subscribers, const std::string& channel);
  lock::Reply read(Link& link, Link::Arrival arrival);

  const std::vector<Endpoint> endpoints_;
  std::optional<TlsContext> tls_;  ///< none if no server speaks TLS
  const Timeouts timeouts_;
  LockContext lock_;
  std::function<std::string()> holder_;
  std::pair<lock::AttemptId, std::uint32_t> described_{};  ///< the round for which lock_ is
  std::map<lock::AttemptId, Secrets> secrets_;
  std::map<lock::AttemptId, std::vector<Command>> with_leaves_;  ///< each leave has these, too
  std::deque<Link> links_;          ///< a deque, since a Link cannot move
  std::vector<lock::Reply> ready_;  ///< answers that needed no server
  Subscribers holder_notices_;      ///< empty until the first subscribe()
  Subscribers wake_ups_;            ///< empty except while we wait
  Subscribers redisson_;            ///< the same, and while we are among the first two
  /// Those three.
  const std::array<Subscribers*, 3> channels_{&holder_notices_, &wake_ups_, &redisson_};
  bool joined_ = false;                   ///< we are in the queue of some server, or may be
  std::set<lock::ServerIndex> woken_by_;  ///< they have confirmed wake_ups_; + size(): redisson_
};

}  // namespace redlock::redis
