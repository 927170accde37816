// SPDX-License-Identifier: MIT
#include "redis/connection/unread.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace redlock::redis {
namespace {

/// How many bytes written to a Unix socket its other side has not read.
int unread_of(int socket) {
  int size = 0;
  return ::ioctl(socket, SIOCOUTQ, &size) == 0 ? size : 0;
}

}  // namespace

void Unread::begin(int socket, std::size_t written) {
  earlier_ = 0;
  was_read_ = false;
  after(socket, static_cast<ssize_t>(written));
}

void Unread::before(int socket, bool awaits_reply) {
  earlier_ = unread_of(socket);
  was_read_ = awaits_reply && (was_read_ || earlier_ < bytes_);
}

void Unread::after(int socket, ssize_t written) {
  bytes_ = unread_of(socket);
  const int sent = written > 0 ? static_cast<int>(written) : 0;
  was_read_ = was_read_ || bytes_ < earlier_ + sent;
}

bool Unread::was_read(int socket) const {
  return was_read_ || unread_of(socket) < bytes_;
}

}  // namespace redlock::redis
