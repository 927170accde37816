// SPDX-License-Identifier: MIT
#include "sandbox/reserved_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "error.h"
#include "os/random.h"

namespace redlock::sandbox {
namespace {

// Both ports of a pair are below 32768, where Linux begins to take ports for connections.
constexpr std::uint16_t kFirst = 10'000;
constexpr std::uint16_t kCount = 12'000;
constexpr std::uint16_t kBus = 10'000;
constexpr int kAttempts = 1000;

/// Empty: another process has it.
os::Fd bind_to(std::uint16_t port) {
  os::Fd held(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(held.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return os::Fd{};
  }
  // Not before bind(2): then that would not fail where another sandbox has reserved the port.
  const int yes = 1;
  setsockopt(held.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return held;
}

}  // namespace

std::uint16_t ReservedPorts::reserve() {
  for (int i = 0; i < kAttempts; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirst + os::random_seed() % kCount);
    os::Fd held = bind_to(port);
    if (!held) continue;
    os::Fd bus = bind_to(static_cast<std::uint16_t>(port + kBus));
    if (!bus) continue;
    held_.push_back(std::move(held));
    held_.push_back(std::move(bus));
    return port;
  }
  throw Error(ExitStatus::os_error, "sandbox: no free TCP port on 127.0.0.1");
}

}  // namespace redlock::sandbox
