// SPDX-License-Identifier: MIT
//
// Where one configured server is reached now. Absent on purpose: the connection itself (link.h).
#pragma once

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/requests/command.h"
#include "redis/wire/resp.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

class Sentinels;
class TlsContext;

/// How long a server may take.
struct Timeouts {
  std::chrono::milliseconds request{200};   ///< to answer, from the time the request was sent
  std::chrono::milliseconds connect{1000};  ///< resolving, connecting and authenticating together
  /// How long sent data may stay unacknowledged (TCP_USER_TIMEOUT of tcp(7)). It cuts a connection
  /// to a host that is gone, but not to a stopped process: its kernel still acknowledges.
  std::chrono::milliseconds acknowledge{1000};
};

/// Names one place after another to connect to, until one of them is the right one:
///   - of a plain server, the server itself;
///   - of a Cluster, the primary that served us last, then the nodes of the URI; a node that does
///     not have our key names the one that has it (MOVED);
///   - behind Sentinels, the primary that they name now.
/// Passive, as Link is.
class Locator {
 public:
  /// `endpoint` and `tls` must outlive this.
  Locator(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts);
  ~Locator();
  Locator(const Locator&) = delete;
  Locator& operator=(const Locator&) = delete;

  /// Starts again; a place must be reached before `deadline`.
  void start(lock::Instant now, lock::Instant deadline);
  void stop();
  /// The same, as Link::close().
  void close();

  /// Asks the Sentinels again while the place is in use, unless it has just done so: a healthy
  /// connection does not prove that the place is still the primary.
  void ask_again(lock::Instant now);

  /// The Sentinels name another primary, by a newer configuration.
  [[nodiscard]] bool superseded() const { return superseded_; }

  /// Where to connect; null if that is not known yet, or there is a failure().
  [[nodiscard]] const Endpoint* place() const { return place_; }

  /// When place() must be reached at the latest, or, without one, be known.
  [[nodiscard]] lock::Instant place_deadline() const { return place_deadline_; }

  /// The place is reached: there is no deadline any more.
  void arrive() { place_deadline_ = lock::kNever; }

  /// The place cannot be used, and `why`. If there is another one to try, place() is that one;
  /// otherwise returns why none can be used. That is permanent if it is so at each place.
  std::optional<lock::Unreachable> leave(const lock::Unreachable& why, lock::Instant now);

  /// The command whose reply shows whether the place is the right one, for after AUTH and SELECT,
  /// or empty. `key`: of the lock; if empty, any node of a Cluster is right.
  [[nodiscard]] std::optional<Command> question(std::string_view key) const;

  /// By the reply to question(). If the place is not the right one, place() is another one now, or
  /// failure() says why, and leave() may know another place.
  bool is_confirmed_by(const Value& reply, lock::Instant now);

  /// A node has answered a request with this redirection ("MOVED 3999 10.0.0.5:6379"): place() is
  /// the node that it names, or there is a failure(). All redirections of a request together have
  /// the time of one connection.
  void redirect(std::string_view moved, lock::Instant now);

  /// The node that a redirection of place() names, if it makes sense.
  [[nodiscard]] std::optional<Endpoint> named_by(std::string_view redirection) const;

  /// The place has answered a request without a redirection.
  void confirm() { redirections_ = 0; }

  /// Why there is no place.
  [[nodiscard]] const std::optional<lock::Unreachable>& failure() const { return failure_; }

  /// Puts the place before its trouble, since messages begin with the configured URI.
  [[nodiscard]] lock::Unreachable at_place(lock::Unreachable trouble) const;

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;
  void turn(lock::Instant now);

 private:
  bool next(lock::Instant now);
  void go_to(const Address& address, lock::Instant now);
  void follow(std::string_view moved, lock::Instant now);
  void fail(lock::Unreachable why);
  void ask(lock::Instant now);
  [[nodiscard]] bool asks() const;
  void take_primary(lock::Instant now);

  const Endpoint& endpoint_;
  Timeouts timeouts_;
  std::unique_ptr<Sentinels> sentinels_;  ///< null if there are none
  Endpoint here_;                         ///< what place() points to, unless it is the endpoint
  const Endpoint* place_ = nullptr;
  std::optional<Address> last_;  ///< cluster: the primary that served us last
  std::vector<Address> left_;    ///< cluster: the nodes still to try, the next one at the end
  std::uint64_t epoch_ = 0;      ///< sentinel: of the newest configuration that we know
  bool superseded_ = false;
  lock::Instant asked_{};                  ///< sentinel: when we last asked
  unsigned redirections_ = 0;              ///< since a node was the right one for a request
  lock::Instant deadline_ = lock::kNever;  ///< of all places together
  lock::Instant place_deadline_ = lock::kNever;
  std::optional<lock::Unreachable> failure_;
  std::optional<lock::Unreachable> trouble_;  ///< with the places that were left
};

}  // namespace redlock::redis
