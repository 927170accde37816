// SPDX-License-Identifier: MIT
//
// All that one process needs of the configured servers for one lock, put together. Absent on
// purpose: how each part works (voters.h, subscribers.h, queue_member.h, attempt_tokens.h).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lock/effect.h"
#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/timeouts.h"
#include "redis/requests/keys.h"
#include "redis/requests/notice.h"
#include "redis/tls/settings.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

class Subscribers;
class TlsContext;

/// Performs the effects of lock/effect.h that concern servers. Nothing here blocks, and no server
/// waits for another. Passive: the caller polls interests() and calls turn().
class ServerSet {
 public:
  /// `restart_grace`: a server that started more recently may have forgotten its locks; 0: every
  /// server is trusted. `holder`: describes us as JSON; called anew for every round of requests for
  /// the lock. The files that `tls` names are read here, before any request for a lock, but only if
  /// a server speaks TLS. Throws Error (78) if they are of no use.
  ServerSet(std::vector<Endpoint> servers, LockKeys keys, std::chrono::milliseconds ttl,
            std::function<std::string()> holder, Timeouts timeouts,
            std::chrono::seconds restart_grace, const TlsSettings& tls);
  ~ServerSet();
  ServerSet(const ServerSet&) = delete;
  ServerSet& operator=(const ServerSet&) = delete;

  /// As Voters::ask(), or, for Op::leave_queue, QueueMember::leave().
  void ask(const lock::Ask& ask, lock::Instant now);

  /// An attempt of another process, known by its token: it may be on every server. A process that
  /// renews that lock receives a notice of its release.
  void adopt(lock::AttemptId attempt, const std::string& token);

  /// Subscribes on every server to the notices for the holder of that attempt's lock, wherever it
  /// has not done so yet. For one attempt only.
  void subscribe(lock::AttemptId attempt, lock::Instant now);

  /// The subscriptions of subscribe(), for a process that must not touch the other connections yet.
  Subscribers& subscribers();

  /// The notices for the holder that the latest turn() received.
  std::vector<Notice> take_notices();

  /// As QueueMember has it.
  void join_queue(lock::Ticket ticket, lock::Instant now);
  std::vector<Notice> take_wake_ups();

  /// A server would perhaps not read the latest requests if the connections ended now.
  [[nodiscard]] bool amid_answers() const;

  /// How long a server may take for an answer.
  [[nodiscard]] lock::Duration request_timeout() const;

  /// Writes a line into the lock's log on every server that is connected, at once or with the
  /// leaves of its attempt, as it says. Nothing waits for it, and no answer is reported. `event`,
  /// `data`: as in LogLine.
  void log(const lock::Log& line, std::string_view event, std::string data, lock::Instant now);

  /// Appends the descriptors that every connection waits for to `out`.
  void interests(std::vector<os::Interest>& out) const;

  /// When turn() must be called at the latest; a past instant if replies are ready already.
  [[nodiscard]] lock::Instant deadline() const;

  /// Moves everything on that can move without blocking, applies time-outs at `now`, and returns
  /// the replies that came in, in the order they came.
  std::vector<lock::Reply> turn(lock::Instant now);

  /// Leaves every queue and asks every server to take back whatever it may hold (Voters has the
  /// details).
  void give_back_all(lock::Instant now);

  /// A server may hold something of an attempt of ours.
  [[nodiscard]] bool owes() const;

  /// Closes every connection without sending anything: they belong to a forked child now. Nothing
  /// can be asked any more.
  void drop_connections();

  /// The token that the lock has in an attempt that was asked for at least once, 40 hex digits.
  [[nodiscard]] const std::string& token(lock::AttemptId attempt) const;

  [[nodiscard]] std::size_t size() const;

  /// For a further connection to that server; null if it does not speak TLS.
  [[nodiscard]] const TlsContext* tls_for(std::size_t server) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace redlock::redis
