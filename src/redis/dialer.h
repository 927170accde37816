// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/resolver.h"
#include "redis/trouble.h"
#include "redis/uri.h"

namespace redlock::redis {

/// Finds the way to one server: resolves its name, then tries one address after the other. Passive:
/// it never blocks, the caller polls interest() and calls turn(). Whether a socket is connected is
/// for the caller to find out, by sending: this saves a round of the loop and two system calls.
class Dialer {
 public:
  /// `user_timeout`: how long sent data may stay unacknowledged (TCP_USER_TIMEOUT of tcp(7)). It
  /// cuts a connection to a host that is gone, but not to a stopped process: its kernel still acks.
  Dialer(const Endpoint& endpoint, std::chrono::milliseconds user_timeout);

  /// Begins anew. Every address gets its share of the time left until `deadline`.
  void start(lock::Instant now, lock::Instant deadline);
  void stop();

  /// Takes the next step that can be taken.
  void turn(lock::Instant now);

  /// A socket whose connection is made or under way; -1 if there is none.
  [[nodiscard]] int socket() const { return socket_.get(); }

  /// The caller found that socket() cannot be connected, errno `error`: on to the next address.
  void refused(int error, lock::Instant now);

  /// The caller found that socket() is connected: it is the caller's now.
  os::Fd take();

  /// All ways are tried: why the last one failed. Stays until start().
  [[nodiscard]] const std::optional<lock::Unreachable>& failure() const { return failure_; }

  [[nodiscard]] Step step() const;
  [[nodiscard]] os::Interest interest() const;

  /// When turn() must be called at the latest.
  [[nodiscard]] lock::Instant deadline() const { return wake_; }

 private:
  void resolved(os::Resolution result, lock::Instant now);
  void try_address(lock::Instant now);
  void try_unix(lock::Instant now);
  void set_options() const;
  void fail(lock::Unreachable why);

  const Endpoint& endpoint_;
  std::chrono::milliseconds user_timeout_;
  lock::Instant started_{};
  lock::Instant deadline_ = lock::kNever;  ///< of the whole undertaking
  lock::Instant wake_ = lock::kNever;      ///< of this address, or of the next try
  std::optional<os::Lookup> lookup_;
  std::vector<os::Address> addresses_;
  std::size_t next_ = 0;  ///< index of the address to try next
  os::Fd socket_;
  os::Fd waiting_;  ///< a Unix socket whose server's backlog is full
  std::optional<lock::Unreachable> failure_;
};

}  // namespace redlock::redis
