// SPDX-License-Identifier: MIT
#include "redis/connection/dialer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace redlock::redis {
namespace {

// On a Unix socket with a full backlog, connect(2) fails with EAGAIN; poll(2) cannot wait for it.
constexpr std::chrono::milliseconds kBacklogRetry{10};

// The "connection attempt delay" that RFC 8305 recommends.
constexpr std::chrono::milliseconds kNextAddress{250};

// In seconds: for hours, nobody would notice that a connection with a subscription is dead, and a
// firewall in between might forget it.
constexpr int kKeepIdle = 30;
constexpr int kKeepInterval = 10;

// How long we keep an unfinished lookup: so only a few threads ever hang in a resolver that hangs.
constexpr std::chrono::seconds kLookupLife{10};

os::Address address_of_socket(const std::string& path) {
  os::Address address{.storage = {}, .length = sizeof(sockaddr_un)};
  auto& name = reinterpret_cast<sockaddr_un&>(address.storage);
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  return address;
}

/// The addresses of both families alternately, beginning with the first: if one family leads
/// nowhere, so do all of its addresses.
std::vector<os::Address> interleaved(std::vector<os::Address> addresses) {
  const auto family = [](const os::Address& address) { return address.storage.ss_family; };
  for (std::size_t i = 1; i < addresses.size(); ++i) {
    const auto place = addresses.begin() + static_cast<std::ptrdiff_t>(i);
    const auto other = std::find_if(place, addresses.end(), [&](const os::Address& address) {
      return family(address) != family(*std::prev(place));
    });
    if (other != addresses.end()) std::rotate(place, other, std::next(other));
  }
  return addresses;
}

bool is_same(const os::Address& one, const os::Address& other) {
  return one.length == other.length && std::memcmp(&one.storage, &other.storage, one.length) == 0;
}

}  // namespace

void Dialer::start(const Endpoint& server, lock::Instant now, lock::Instant deadline) {
  stop();
  endpoint_ = &server;
  deadline_ = deadline;
  // A lookup that was too slow for the last try may be done for this one, but its result ages.
  const Address& wanted = server.address;
  if (lookup_ && (now - asked_ > kLookupLife || looked_up_ != wanted)) lookup_.reset();
  if (server.kind == Endpoint::Kind::unix_socket) {
    addresses_.push_back(address_of_socket(server.path));
  } else if (auto address = os::numeric_address(wanted.host, wanted.port)) {
    addresses_.push_back(*address);
  } else if (!lookup_) {
    lookup_.emplace(wanted.host, wanted.port);
    looked_up_ = wanted;
    asked_ = now;
  }
  if (!addresses_.empty()) wake_ = now;
}

void Dialer::stop() {
  addresses_.clear();
  next_ = 0;
  sockets_.clear();
  failure_.reset();
  wake_ = lock::kNever;
}

os::Fd Dialer::turn(lock::Instant now) {
  // First, or a late loop would give up a connection that was made in time.
  if (os::Fd connected = take_connected(now)) return connected;
  if (lookup_) {
    auto result = lookup_->take();
    if (!result) return {};
    lookup_.reset();
    if (result->error != 0) {
      fail(lookup_failed(*endpoint_, result->error, result->system_error));
      return {};
    }
    addresses_ = interleaved(std::move(result->addresses));
    const auto first = static_cast<std::ptrdiff_t>(endpoint_->first % addresses_.size());
    std::rotate(addresses_.begin(), addresses_.begin() + first, addresses_.end());
    const auto useless = std::ranges::find_if(addresses_, [this](const os::Address& address) {
      return passed_over_ && is_same(address, *passed_over_);
    });
    if (useless != addresses_.end()) {
      std::rotate(addresses_.begin(), std::next(useless), addresses_.end());
    }
  } else if (now < wake_) {
    return {};
  }
  try_next(now);
  return take_connected(now);
}

/// A socket that is connected, if there is one. One that was connected and is broken already
/// counts, too: a server that is full says so before it hangs up. A socket that is refused is
/// replaced by that for the next address.
os::Fd Dialer::take_connected(lock::Instant now) {
  for (std::size_t index = 0; index < sockets_.size();) {
    // There is nothing to send: EAGAIN says that TCP still tries.
    if (::send(sockets_[index].socket.get(), nullptr, 0, MSG_NOSIGNAL) == 0 || errno == EPIPE ||
        errno == ECONNRESET) {
      os::Fd connected = std::move(sockets_[index].socket);
      connected_ = sockets_[index].address;
      stop();
      return connected;
    }
    if (errno == EAGAIN) {
      ++index;
      continue;
    }
    const int error = errno;
    sockets_.erase(sockets_.begin() + static_cast<std::ptrdiff_t>(index));
    try_next(now, error);
  }
  return {};
}

/// Tries addresses until there is a socket to wait for, or none is left. `error`: of the latest.
void Dialer::try_next(lock::Instant now, int error) {
  while (next_ < addresses_.size()) {
    const auto left = static_cast<lock::Duration::rep>(addresses_.size() - next_);
    error = try_address(addresses_[next_]);
    if (error == EAGAIN && addresses_[next_].storage.ss_family == AF_UNIX) {
      wake_ = now + kBacklogRetry;
      return;
    }
    ++next_;
    if (error != 0) continue;
    const lock::Duration share = std::max((deadline_ - now) / left, lock::Duration::zero());
    wake_ = left > 1 ? now + std::min<lock::Duration>(share, kNextAddress) : lock::kNever;
    return;
  }
  wake_ = lock::kNever;
  if (sockets_.empty()) fail(connect_failed(*endpoint_, error));
}

/// 0 if there is a socket now, or errno.
int Dialer::try_address(const os::Address& address) {
  os::Fd socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  if (address.storage.ss_family != AF_UNIX) set_options(socket.get());
  const auto* const peer = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(socket.get(), peer, address.length) != 0 && errno != EINPROGRESS) return errno;
  sockets_.push_back({std::move(socket), address});
  return 0;
}

// None of these calls can fail on a TCP socket, and none is worth failing for.
void Dialer::set_options(int socket) const {
  const int on = 1;
  const auto limit = static_cast<unsigned>(user_timeout_.count());
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepIdle, sizeof kKeepIdle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepInterval, sizeof kKeepInterval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

void Dialer::interests(std::vector<os::Interest>& out) const {
  if (lookup_) out.push_back({.fd = lookup_->fd(), .read = true});
  for (const Dialed& each : sockets_) out.push_back({.fd = each.socket.get(), .write = true});
}

}  // namespace redlock::redis
