// SPDX-License-Identifier: MIT
//
// A server that a test plays itself, on a Unix socket or a port of this host; and what asks it.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "doctest.h"

#include <array>
#include <cstdlib>

#include "commands.h"
#include "redis/servers/server_set.h"

namespace redlock::tests {

class PlayedServer {
 public:
  explicit PlayedServer(int backlog = 8) : listener_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    std::string directory = "/tmp/redlock-unit.XXXXXX";
    REQUIRE(::mkdtemp(directory.data()) != nullptr);
    directory_ = directory;
    endpoint_.kind = redis::Endpoint::Kind::unix_socket;
    endpoint_.path = directory + "/sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    endpoint_.path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    REQUIRE(::listen(listener_.get(), backlog) == 0);
  }
  /// On a free port.
  static PlayedServer on_loopback() {
    return PlayedServer(os::Fd(::socket(AF_INET, SOCK_STREAM, 0)));
  }
  ~PlayedServer() {
    ::unlink(endpoint_.path.c_str());
    ::rmdir(directory_.c_str());
  }
  PlayedServer(const PlayedServer&) = delete;
  PlayedServer& operator=(const PlayedServer&) = delete;

  [[nodiscard]] redis::Endpoint& endpoint() { return endpoint_; }

  [[nodiscard]] int listener() const { return listener_.get(); }
  [[nodiscard]] bool is_called() const { return readable(listener_.get()); }
  void accept() { connection_ = os::Fd(::accept(listener_.get(), nullptr, nullptr)); }

  void hang_up() { connection_.reset(); }
  os::Fd take() { return std::move(connection_); }

  /// What the client has sent since the last call.
  std::string read() {
    if (!connection_ && is_called()) accept();
    std::string text;
    std::array<char, 4096> chunk{};
    while (readable(connection_.get())) {
      const ssize_t n = ::read(connection_.get(), chunk.data(), chunk.size());
      if (n <= 0) break;
      text.append(chunk.data(), static_cast<std::size_t>(n));
    }
    return text;
  }
  void write(const std::string& text) {
    REQUIRE(::write(connection_.get(), text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()));
  }

 private:
  explicit PlayedServer(os::Fd listener) : listener_(std::move(listener)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_.get(), name, size) == 0);
    REQUIRE(::listen(listener_.get(), 8) == 0);
    REQUIRE(::getsockname(listener_.get(), name, &size) == 0);
    endpoint_.address = {.host = "127.0.0.1", .port = ntohs(address.sin_port)};
  }
  static bool readable(int fd) {
    pollfd waiting{fd, POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
  }

  os::Fd listener_;
  os::Fd connection_;
  redis::Endpoint endpoint_;
  std::string directory_;
};

/// An array of texts.
inline std::string array_of(const std::vector<std::string>& texts) {
  std::string wire = "*" + std::to_string(texts.size()) + "\r\n";
  for (const std::string& text : texts) wire += bulk_of(text);
  return wire;
}

/// What asks these servers for a lock.
inline redis::ServerSet servers_of(std::vector<redis::Endpoint> endpoints,
                                   redis::LockContext lock) {
  return {std::move(endpoints), std::move(lock), [] { return std::string("{}"); }, {}, {}};
}

/// The answer of a server that grants the lock.
inline const std::string kGranted = array_of("granted", "", 0, "none", "7", "0");

/// A played server, and what asks it alone for the lock L.
struct PlayedSet {
  explicit PlayedSet(redis::LockContext lock = {.lock_key = "L", .ttl = std::chrono::seconds(30)})
      : servers(servers_of({server.endpoint()}, std::move(lock))) {}

  static constexpr lock::Instant kStart = lock::Instant{} + std::chrono::seconds(100);

  void ask(const lock::Operation& operation, lock::AttemptId attempt = 1) {
    servers.ask({.server = 0, .attempt = attempt, .operation = operation}, kStart);
  }
  void ask(lock::Op op, lock::AttemptId attempt = 1) { ask(operation_of(op), attempt); }

  /// The replies once the server has written this.
  std::vector<lock::Reply> replies_to(const std::string& wire, lock::Instant now = kStart) {
    server.write(wire);
    return servers.turn(now);
  }
  /// The answer to that request, for which the server writes this.
  lock::Answer answer(lock::Op op, const std::string& wire) {
    ask(op);
    server.read();
    const std::vector<lock::Reply> replies = replies_to(wire);
    REQUIRE(replies.size() == 1);
    return replies.front().answer;
  }

  PlayedServer server{};
  redis::ServerSet servers;
};

}  // namespace redlock::tests
