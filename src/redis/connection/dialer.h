// SPDX-License-Identifier: MIT
#pragma once

#include "lock/time.h"
#include "lock/vote.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/resolver.h"
#include "redis/wire/trouble.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// Finds the way to one server: resolves its name, then tries its addresses. If one does not answer
/// soon, it tries the next one beside it (as in RFC 8305). Passive: it never blocks; the caller
/// polls interests() and calls turn().
class Dialer {
 public:
  /// `user_timeout`: see Timeouts::acknowledge.
  explicit Dialer(std::chrono::milliseconds user_timeout) : user_timeout_(user_timeout) {}

  /// Starts again. `server`: of kind tcp or unix_socket; it must not change before stop(). All
  /// addresses are tried before `deadline`, which the caller watches itself.
  void start(const Endpoint& server, lock::Instant now, lock::Instant deadline);
  void stop();

  /// The connection that turn() returned last was of no use. If its name has other addresses, the
  /// next search begins with the one after it.
  void pass_over() { passed_over_ = connected_; }

  /// Takes the next step that can be taken. The result is the connected socket; as long as there is
  /// none, it is empty.
  os::Fd turn(lock::Instant now);

  /// Why the last address failed, once all have failed. Stays until start().
  [[nodiscard]] const std::optional<lock::Unreachable>& failure() const { return failure_; }

  [[nodiscard]] Step step() const { return lookup_ ? Step::resolving : Step::connecting; }
  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const { return wake_; }

 private:
  struct Dialed {
    os::Fd socket;
    os::Address address;
  };

  os::Fd take_connected(lock::Instant now);
  void try_next(lock::Instant now, int error = 0);
  int try_address(const os::Address& address);
  void set_options(int socket) const;
  void fail(lock::Unreachable why) {
    stop();
    failure_ = std::move(why);
  }

  const Endpoint* endpoint_ = nullptr;
  std::chrono::milliseconds user_timeout_;
  lock::Instant deadline_ = lock::kNever;  ///< of the whole search
  lock::Instant wake_ = lock::kNever;      ///< time for the next address or try
  std::optional<os::Lookup> lookup_;       ///< outlives stop()
  Address looked_up_;                      ///< whose name it is
  lock::Instant asked_{};                  ///< when the lookup began
  std::vector<os::Address> addresses_;
  std::size_t next_ = 0;                    ///< index of the address to try next
  std::vector<Dialed> sockets_;             ///< that connect
  std::optional<os::Address> connected_;    ///< of the socket that turn() returned last
  std::optional<os::Address> passed_over_;  ///< see pass_over()
  std::optional<lock::Unreachable> failure_;
};

}  // namespace redlock::redis
