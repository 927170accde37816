// SPDX-License-Identifier: MIT
#include "redis/dialer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace redlock::redis {
namespace {

// connect(2) on a Unix socket with a full backlog says EAGAIN at once, and nothing can be polled.
constexpr std::chrono::milliseconds kBacklogRetry{10};

}  // namespace

Dialer::Dialer(const Endpoint& endpoint, std::chrono::milliseconds user_timeout)
    : endpoint_(endpoint), user_timeout_(user_timeout) {}

void Dialer::start(lock::Instant now, lock::Instant deadline) {
  stop();
  started_ = now;
  deadline_ = deadline;
  if (endpoint_.kind == Endpoint::Kind::unix_socket) {
    try_unix(now);
  } else if (auto address = os::numeric_address(endpoint_.host, endpoint_.port)) {
    addresses_.push_back(*address);
    try_address(now);
  } else {
    lookup_.emplace(endpoint_.host, endpoint_.port);
    turn(now);  // it may have failed already
  }
}

void Dialer::stop() {
  lookup_.reset();
  addresses_.clear();
  next_ = 0;
  socket_.reset();
  waiting_.reset();
  failure_.reset();
  wake_ = lock::kNever;
}

void Dialer::turn(lock::Instant now) {
  if (lookup_) {
    auto result = lookup_->take();
    if (!result) return;
    lookup_.reset();
    resolved(std::move(*result), now);
  } else if (now >= wake_) {
    if (waiting_) {
      try_unix(now);
    } else {
      refused(ETIMEDOUT, now);
    }
  }
}

void Dialer::resolved(os::Resolution result, lock::Instant now) {
  if (result.error != 0) {
    fail(lookup_failed(endpoint_, result.error, result.system_error));
    return;
  }
  addresses_ = std::move(result.addresses);
  try_address(now);
}

void Dialer::try_address(lock::Instant now) {
  const auto left = static_cast<lock::Duration::rep>(addresses_.size() - next_);
  const os::Address& address = addresses_[next_++];
  wake_ = now + (deadline_ - now) / left;
  socket_ =
      os::Fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) {
    refused(errno, now);
    return;
  }
  set_options();
  const auto* const peer = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(socket_.get(), peer, address.length) != 0 && errno != EINPROGRESS &&
      errno != EINTR) {
    refused(errno, now);
  }
}

// None of these can fail on a TCP socket, and none is worth failing for.
void Dialer::set_options() const {
  const int on = 1;
  const auto limit = static_cast<unsigned>(user_timeout_.count());
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

void Dialer::try_unix(lock::Instant now) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, endpoint_.path.data(),
              std::min(endpoint_.path.size(), sizeof address.sun_path - 1));
  if (!waiting_)
    waiting_ = os::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!waiting_) {
    fail(connect_failed(endpoint_, errno));
  } else if (::connect(waiting_.get(), reinterpret_cast<const sockaddr*>(&address),
                       sizeof address) == 0) {
    socket_ = std::move(waiting_);
    wake_ = lock::kNever;
  } else if (errno == EAGAIN || errno == EINTR) {
    wake_ = now + kBacklogRetry;
  } else {
    fail(connect_failed(endpoint_, errno));
  }
}

void Dialer::refused(int error, lock::Instant now) {
  socket_.reset();
  if (next_ < addresses_.size()) {
    try_address(now);
  } else if (error == ETIMEDOUT) {
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(now - started_);
    fail(connect_timed_out(endpoint_, Step::connecting, spent));
  } else {
    fail(connect_failed(endpoint_, error));
  }
}

void Dialer::fail(lock::Unreachable why) {
  stop();
  failure_ = std::move(why);
}

os::Fd Dialer::take() {
  os::Fd connected = std::move(socket_);
  stop();
  return connected;
}

Step Dialer::step() const {
  return lookup_ ? Step::resolving : Step::connecting;
}

os::Interest Dialer::interest() const {
  if (lookup_) return {.fd = lookup_->fd(), .read = true};
  if (socket_) return {.fd = socket_.get(), .write = true};
  return {};
}

}  // namespace redlock::redis
