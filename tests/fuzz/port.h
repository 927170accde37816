// SPDX-License-Identifier: MIT
//
// A server that a target plays: redlock's own connections lead there, and nothing waits.
#pragma once

#include <deque>
#include <functional>

#include "lock/time.h"
#include "os/fd.h"
#include "redis/wire/uri.h"

namespace redlock::fuzz {

/// When what a target plays begins.
inline constexpr lock::Instant kStart = lock::Instant(std::chrono::seconds(1000));

/// The server's end of a connection.
struct Connection {
  os::Fd socket;
  std::string received{};  ///< and not taken yet
  bool closed = false;     ///< by the client

  /// False: the client has closed its end, or reads nothing.
  [[nodiscard]] bool send(std::string_view bytes) const;
};

/// Listens as long as the process lives.
class Port {
 public:
  enum class Kind { unix_socket, tcp };
  explicit Port(Kind kind);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] const redis::Endpoint& endpoint() const { return endpoint_; }

  /// Accepts and reads what is there. True: something was.
  bool turn();
  [[nodiscard]] std::deque<Connection>& connections() { return connections_; }
  /// Ends all connections, also those that are not accepted yet.
  void reset();

 private:
  os::Fd accept() const;

  Kind kind_;
  os::Fd listener_;
  std::string folder_;
  redis::Endpoint endpoint_;
  std::deque<Connection> connections_;
};

}  // namespace redlock::fuzz
