// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lock/effect.h"
#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/keys.h"
#include "redis/notice.h"
#include "redis/queue.h"
#include "redis/timeouts.h"
#include "redis/tls/settings.h"
#include "redis/uri.h"

namespace redlock::redis {

class Subscribers;

/// The configured servers as voters on one lock: performs lock::Ask, gives back lock::Reply. One
/// ordered connection per server; nothing here blocks, and no server waits for another. It owns the
/// tokens (one per attempt, 160 bits from getrandom(2), drawn when the attempt is first named).
class ServerSet {
 public:
  /// `restart_grace`: a server that is up for less may have forgotten what it held; 0: none is.
  /// `holder`: gives who we are, as JSON; asked anew for every round of requests for the lock.
  /// `tls` is not looked at unless a server speaks it; then what it names is read here, before any
  /// lock is asked for. Throws Error (78) if that is of no use.
  ServerSet(std::vector<Endpoint> servers, LockKeys keys, std::chrono::milliseconds ttl,
            std::function<std::string()> holder, Timeouts timeouts,
            std::chrono::seconds restart_grace, const TlsSettings& tls);
  ~ServerSet();
  ServerSet(const ServerSet&) = delete;
  ServerSet& operator=(const ServerSet&) = delete;

  /// Queues the request (connecting first if need be) and tries to send it at once. Its reply comes
  /// out of turn(), never from inside this call.
  ///
  /// The first Op::leave_queue closes the connections of join_queue(). A server that is not
  /// connected is not asked: its answer is Unreachable.
  ///
  /// A release also forgets what was asked for its attempt and not sent yet: that gets no reply and
  /// reaches the server nevermore. If nothing of the attempt was ever sent there, nobody but us
  /// knows its token, and the release is answered Missing without asking the server.
  void ask(const lock::Ask& ask, lock::Instant now);

  /// An attempt of another process, known by its token: it may be on every server. Its release is
  /// told to whoever renews it there.
  void adopt(lock::AttemptId attempt, const std::string& token);

  /// Listens on every server for word to the holder of that attempt's lock, wherever it does not do
  /// so yet, over connections made for it. Of one attempt only.
  void listen(lock::AttemptId attempt, lock::Instant now);

  /// What listens, for who must not touch the other connections yet.
  Subscribers& subscribers();

  /// What came by the last turn().
  std::vector<Notice> take_notices();

  /// Puts us into the lock's queue on every server that is connected and answers, or keeps us
  /// there, and listens for being woken wherever it does not do so yet, over connections made for
  /// it.
  void join_queue(lock::Instant now);

  /// Where we stand in the queue by the servers' answers to the last join_queue(): on the one where
  /// we stand farthest behind. None if no server has told.
  [[nodiscard]] std::optional<QueuePlace> place() const;

  /// A server would perhaps not read what was asked last if the connections ended now.
  [[nodiscard]] bool amid_answers() const;

  /// What came by the last turn(): a waiter's words, as take_notices() has the holder's, but that
  /// it can be heard from now on only once from each server.
  std::vector<Notice> take_wake_ups();

  /// Writes a line into the lock's log on every server that is connected, at once or with the
  /// leaves of its attempt, as it says. Nothing is heard of it, and nothing waits for it. `event`,
  /// `data`: as in LogLine.
  void log(const lock::Log& line, std::string_view event, std::string data, lock::Instant now);

  /// Appends what every connection waits for to `out`.
  void interests(std::vector<os::Interest>& out) const;

  /// When turn() must be called at the latest; a past instant if replies are ready already.
  [[nodiscard]] lock::Instant deadline() const;

  /// Moves everything on that can move without blocking, applies time-outs at `now`, and returns
  /// the replies that came in, in the order they came.
  std::vector<lock::Reply> turn(lock::Instant now);

  /// When the machine has failed under us, and nobody knows any more how far the attempts have
  /// come: asks every server to take back whatever it may hold of any of them. Their replies come
  /// out of turn(), and are of no use to a session.
  void give_back_all(lock::Instant now);

  /// A server may hold something of an attempt of ours.
  [[nodiscard]] bool owes() const;

  /// Lets go of every connection without a word on any of them: they are a forked child's now.
  /// Nothing can be asked any more.
  void drop_connections();

  /// The token that the lock has in an attempt that was asked for at least once, 40 hex digits.
  [[nodiscard]] const std::string& token(lock::AttemptId attempt) const;

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::string display(lock::ServerIndex server) const;  ///< redacted URI

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace redlock::redis
