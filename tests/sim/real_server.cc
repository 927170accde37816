// SPDX-License-Identifier: MIT
#include "real_server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace redlock::sim {

RealServer::RealServer(const std::string& path)
    : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("the path is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  // A server that has just started has its socket a moment before it listens.
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  for (int tries = 0; ::connect(fd_, where, sizeof address) != 0; ++tries) {
    if (errno != ECONNREFUSED || tries == 500) {
      throw std::runtime_error(path + ": " + std::strerror(errno));
    }
    ::usleep(10'000);
  }
}

RealServer::~RealServer() {
  ::close(fd_);
}

void RealServer::write(std::string_view wire) {
  while (!wire.empty()) {
    const ssize_t n = ::send(fd_, wire.data(), wire.size(), MSG_NOSIGNAL);
    if (n <= 0) throw std::runtime_error("the connection broke");
    wire.remove_prefix(static_cast<std::size_t>(n));
  }
}

redis::Value RealServer::send(const redis::Flight& flight) {
  write(flight.wire);
  redis::Value first = receive();
  for (unsigned i = 1; i < flight.replies; ++i) receive();
  return first;
}

std::vector<redis::Value> RealServer::commands(const std::vector<std::string>& wires) {
  std::string all;
  for (const std::string& wire : wires) all += wire;
  write(all);
  std::vector<redis::Value> replies;
  while (replies.size() < wires.size()) replies.push_back(receive());
  return replies;
}

redis::Value RealServer::receive() {
  char chunk[4096];
  while (true) {
    if (auto value = parser_.next()) return *value;
    const ssize_t n = ::recv(fd_, chunk, sizeof chunk, 0);
    if (n <= 0) throw std::runtime_error("the connection broke");
    parser_.feed({chunk, static_cast<std::size_t>(n)});
  }
}

std::int64_t RealServer::time_ms() {
  const redis::Value time = command({"TIME"});
  return std::stoll(time.elements.at(0).text) * 1000 + std::stoll(time.elements.at(1).text) / 1000;
}

}  // namespace redlock::sim
