// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/tls_settings.h"
#include "redis/uri.h"

namespace redlock::redis {

/// Everything about a lock that the wire needs to know.
struct LockKeys {
  std::string prefix;  ///< put before the name to give the key
  std::string name;
  std::string held_token{};  ///< of the lock that an ancestor holds; empty: none
};

struct Timeouts {
  std::chrono::milliseconds request{200};   ///< for the answer, from the time it was sent
  std::chrono::milliseconds connect{1000};  ///< resolving, connecting and authenticating together
};

/// The configured servers as voters on one lock: performs lock::Ask, gives back lock::Reply. One
/// ordered connection per server; nothing here blocks, and no server waits for another. It owns the
/// tokens (one per attempt, 160 bits from getrandom(2), drawn when the attempt is first named).
class ServerSet {
 public:
  /// `restart_grace`: a server that is up for less may have forgotten what it held; 0: none is.
  /// `tls` is not looked at unless a server speaks it; then what it names is read here, before any
  /// lock is asked for. Throws Error (78) if that is of no use.
  ServerSet(std::vector<Endpoint> servers, LockKeys keys, std::chrono::milliseconds ttl,
            std::string holder_json, Timeouts timeouts, std::chrono::seconds restart_grace,
            const TlsSettings& tls);
  ~ServerSet();
  ServerSet(const ServerSet&) = delete;
  ServerSet& operator=(const ServerSet&) = delete;

  /// Queues the request (connecting first if need be) and tries to send it at once. Its reply comes
  /// out of turn(), never from inside this call.
  ///
  /// A release also forgets what was asked for its attempt and not sent yet: that gets no reply and
  /// reaches the server nevermore. If nothing of the attempt was ever sent there, nobody but us
  /// knows its token, and the release is answered Missing without asking the server.
  void ask(const lock::Ask& ask, lock::Instant now);

  /// Appends what every connection waits for to `out`.
  void interests(std::vector<os::Interest>& out) const;

  /// When turn() must be called at the latest; a past instant if replies are ready already.
  [[nodiscard]] lock::Instant deadline() const;

  /// Moves everything on that can move without blocking, applies time-outs at `now`, and returns
  /// the replies that came in, in the order they came.
  std::vector<lock::Reply> turn(lock::Instant now);

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
