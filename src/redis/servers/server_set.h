// SPDX-License-Identifier: MIT
//
// The configured servers as voters on one lock, and as places where we wait for it. Absent on
// purpose: what follows from a vote, when to join the queue (lock/), requests (redis/requests/).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lock/effect.h"
#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"
#include "redis/requests/keys.h"
#include "redis/requests/request.h"
#include "redis/servers/subscriber.h"
#include "redis/tls/context.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// Performs the effects of lock/effect.h that concern servers, over one ordered connection per
/// server for the requests, and others for messages. Nothing here blocks, and no server waits for
/// another. Passive: the caller polls interests() and calls turn().
class ServerSet {
 public:
  /// `restart_grace`: a server that started more recently may have forgotten its locks; 0: every
  /// server is trusted. `holder`: describes us as JSON, for each round of requests for the lock.
  /// Reads the files that `tls` names, if a server speaks TLS. Throws Error (78) if they are of no
  /// use.
  ServerSet(std::vector<Endpoint> servers, LockKeys keys, std::chrono::milliseconds ttl,
            std::function<std::string()> holder, Timeouts timeouts,
            std::chrono::seconds restart_grace, const TlsSettings& tls);
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
  void log(const lock::Log& line, std::string_view event, std::string_view data,
           lock::Instant now);

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

  /// Closes every connection without sending anything: they belong to a forked child now.
  void drop_connections();

  /// The lock's token in an attempt that was asked for, 40 hex digits.
  [[nodiscard]] const std::string& token(lock::AttemptId attempt) const {
    return secrets_.at(attempt).token;
  }

  [[nodiscard]] std::size_t size() const { return endpoints_.size(); }

  /// For a further connection to that server; null without TLS.
  [[nodiscard]] const TlsContext* tls_for(lock::ServerIndex server) const {
    return endpoints_.at(server).tls ? &*tls_ : nullptr;
  }

 private:
  const Secrets& secrets_of(lock::AttemptId attempt, std::size_t slot = 0);
  Flight encode(const lock::Ask& ask);
  [[nodiscard]] std::string_view redisson_key() const {
    return keys_.redisson ? std::string_view(keys_.key) : std::string_view();
  }
  void leave_queue(const lock::Ask& ask, lock::Instant now);
  void open(Subscribers& subscribers, const std::string& channel);
  lock::Reply read(Link& link, Link::Arrival arrival);

  const std::vector<Endpoint> endpoints_;
  std::optional<TlsContext> tls_;  ///< none if no server speaks TLS
  const Timeouts timeouts_;
  const LockKeys keys_;
  LockContext context_;
  std::function<std::string()> holder_;
  std::pair<lock::AttemptId, std::uint32_t> described_{};  ///< the round for which context_ is
  std::map<lock::AttemptId, Secrets> secrets_;
  std::map<lock::AttemptId, std::string> with_leaves_;  ///< each leave has this command, too
  std::deque<Link> links_;                ///< a deque, since a Link cannot move
  std::vector<lock::Reply> ready_;        ///< answers that needed no server
  Subscribers holder_notices_;            ///< empty until the first subscribe()
  Subscribers wake_ups_;                  ///< empty except while we wait
  Subscribers redisson_;                  ///< the same, and while we are among the first two
  bool joined_ = false;                   ///< we are in the queue of some server, or may be
  std::set<lock::ServerIndex> woken_by_;  ///< they have confirmed wake_ups_; + size(): redisson_
};

}  // namespace redlock::redis
