// SPDX-License-Identifier: MIT
#include "redis/connection/stream.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "redis/tls/trouble.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kChunk = 16 * 1024;

}  // namespace

ssize_t send_to(int fd, std::string_view bytes) {
  while (true) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0 || errno != EINTR) return n;
  }
}

Stream::Stream(os::Fd socket, const TlsContext* tls, const Endpoint& endpoint)
    : socket_(std::move(socket)) {
  if (tls != nullptr) tls_ = std::make_unique<Tls>(*tls, endpoint);
}

Stream::~Stream() {
  if (!tls_ || !rest_.empty()) return;
  tls_->close();
  tls_->take(rest_);
  send_rest();  // if this fails, the server still sees that the connection ends
}

/// recv(2) into TLS. 0 at the end, -1 with errno.
ssize_t Stream::receive() {
  std::array<char, kChunk> chunk;  // not cleared: it is written before it is read
  ssize_t n = 0;
  do {
    n = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
  } while (n < 0 && errno == EINTR);
  if (n > 0) tls_->feed({chunk.data(), static_cast<std::size_t>(n)});
  return n;
}

Tls::Handshake Stream::handshake() {
  if (!tls_) return Tls::Handshake::done;
  while (true) {
    const Tls::Handshake progress = tls_->handshake();
    tls_->take(rest_);
    send_rest();
    if (progress == Tls::Handshake::failed) failure_ = tls_->failure();
    if (progress != Tls::Handshake::under_way) return progress;
    const ssize_t n = receive();
    if (n > 0) continue;
    if (n < 0 && errno == EAGAIN) return progress;
    failure_ = tls_hung_up();
    return Tls::Handshake::failed;
  }
}

ssize_t Stream::write(std::string_view bytes) {
  if (!tls_) return send_to(socket_.get(), bytes);
  send_rest();
  if (!rest_.empty()) {
    errno = EAGAIN;
    return -1;
  }
  bytes = bytes.substr(0, kChunk);
  if (!bytes.empty() && !tls_->write(bytes)) {
    failure_ = tls_->failure();
    errno = EPROTO;
    return -1;
  }
  tls_->take(rest_);
  send_rest();
  return static_cast<ssize_t>(bytes.size());
}

ssize_t Stream::read(std::span<char> bytes) {
  if (!tls_) return ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  while (true) {
    const std::size_t got = tls_->read(bytes);
    tls_->take(rest_);  // TLS sends messages of its own now and then
    send_rest();
    if (got > 0) return static_cast<ssize_t>(got);
    if (tls_->failure()) {
      failure_ = tls_->failure();
      errno = EPROTO;
      return -1;
    }
    if (tls_->closed()) return 0;
    const ssize_t n = receive();
    if (n <= 0) return n;
  }
}

// A broken connection keeps the bytes that it cannot send; reading finds out that it broke, and
// why.
void Stream::send_rest() {
  if (rest_.empty()) return;
  const ssize_t n = send_to(socket_.get(), rest_);
  if (n > 0) rest_.erase(0, static_cast<std::size_t>(n));
}

}  // namespace redlock::redis
