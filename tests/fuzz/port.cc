// SPDX-License-Identifier: MIT
#include "port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "fuzz.h"

namespace redlock::fuzz {

bool Connection::send(std::string_view bytes) const {
  return ::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

Port::Port(Kind kind)
    : kind_(kind),
      listener_(::socket(kind == Kind::tcp ? AF_INET : AF_UNIX,
                         SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  union {
    sockaddr any;
    sockaddr_in tcp;
    sockaddr_un local;
  } address{};
  socklen_t size = kind == Kind::tcp ? sizeof address.tcp : sizeof address.local;
  if (kind == Kind::tcp) {
    address.tcp.sin_family = AF_INET;
    address.tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else {
    const char* const where = std::getenv("TMPDIR");
    folder_ = std::string(where != nullptr ? where : "/tmp") + "/redlock-fuzz.XXXXXX";
    require(::mkdtemp(folder_.data()) != nullptr, "there is a folder for the socket");
    endpoint_.kind = redis::Endpoint::Kind::unix_socket;
    endpoint_.path = folder_ + "/sock";
    address.local.sun_family = AF_UNIX;
    endpoint_.path.copy(address.local.sun_path, sizeof address.local.sun_path - 1);
  }
  require(::bind(listener_.get(), &address.any, size) == 0 && ::listen(listener_.get(), 64) == 0,
          "the port listens");
  if (kind == Kind::tcp) {
    ::getsockname(listener_.get(), &address.any, &size);
    endpoint_.address = {.host = "127.0.0.1", .port = ntohs(address.tcp.sin_port)};
  }
}

Port::~Port() {
  if (folder_.empty()) return;
  ::unlink(endpoint_.path.c_str());
  ::rmdir(folder_.c_str());
}

os::Fd Port::accept() const {
  os::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  // Its end is a reset: no port waits for late packets of thousands of connections.
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (socket && kind_ == Kind::tcp) {
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  return socket;
}

bool Port::turn() {
  bool moved = false;
  while (os::Fd socket = accept()) {
    connections_.push_back({std::move(socket)});
    moved = true;
  }
  std::array<char, 16384> chunk;
  for (Connection& each : connections_) {
    while (!each.closed && each.socket) {
      const ssize_t count = ::recv(each.socket.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
      if (count < 0 && errno == EAGAIN) break;
      each.closed = count <= 0;
      if (count > 0) each.received.append(chunk.data(), static_cast<std::size_t>(count));
      moved = true;
    }
  }
  return moved;
}

void Port::reset() {
  while (accept()) {
  }
  connections_.clear();
}

}  // namespace redlock::fuzz
