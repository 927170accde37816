// SPDX-License-Identifier: MIT
#include "sandbox/conversation.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "os/fd.h"

namespace redlock::sandbox {
namespace {

using std::chrono::steady_clock;

constexpr int kMomentMs = 5;

/// The connection that has everything sent. Empty: the server does not take it.
os::Fd send_to(const std::string& path, std::string_view commands) {
  os::Fd connection(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const bool sent =
      connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(connection.get(), commands.data(), commands.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(commands.size());
  if (!sent) return os::Fd{};
  // The server answers what it has read, and then closes its end, too. So we need not understand
  // its replies to know when all are here.
  shutdown(connection.get(), SHUT_WR);
  return connection;
}

}  // namespace

std::optional<std::string> converse(const std::string& socket, std::string_view commands, int stop,
                                    steady_clock::time_point deadline) {
  const os::Fd connection = send_to(socket, commands);
  std::string said;
  if (!connection) return said;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    std::array<pollfd, 2> waiting{pollfd{stop, POLLIN, 0}, pollfd{connection.get(), POLLIN, 0}};
    const int ready =
        poll(waiting.data(), waiting.size(), static_cast<int>(std::max<long long>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return said;
    if (waiting[0].revents != 0) return std::nullopt;
    std::array<char, 4096> buffer{};
    const ssize_t got = recv(connection.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return said;
    said.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

bool wait_a_moment(int stop) {
  pollfd waiting{stop, POLLIN, 0};
  return poll(&waiting, 1, kMomentMs) <= 0;
}

}  // namespace redlock::sandbox
