// SPDX-License-Identifier: MIT
#include "os/service_manager.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "os/fd.h"

namespace redlock::os {

ServiceManager::ServiceManager() {
  const char* const value = std::getenv(kVariable);
  const std::string_view name = value == nullptr ? "" : value;
  const bool valid = name.size() > 1 && (name[0] == '/' || name[0] == '@');
  if (!valid || name.size() > sizeof(sockaddr_un::sun_path)) return;
  address_ = name;
  if (name[0] == '@') address_[0] = '\0';
}

void ServiceManager::tell(std::string_view state) const noexcept {
  if (!listens()) return;
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  const timeval limit{.tv_sec = 0, .tv_usec = 100'000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  static_cast<void>(::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&to), length));
}

}  // namespace redlock::os
