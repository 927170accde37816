// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace redlock::redis {

/// Whether the server at the other end of a Unix socket has read a request that it has not
/// answered. That shows as unread bytes that are gone before a write, or right after it: the kernel
/// counts at least every byte that was written. Of a TCP connection nothing can be known.
class Unread {
 public:
  /// A new connection, to which `written` bytes went already.
  void begin(int socket, std::size_t written);

  /// Around a write: `before` first, `after` with the write's result. `awaits_reply`: an earlier
  /// request is not answered to the end.
  void before(int socket, bool awaits_reply);
  void after(int socket, ssize_t written);

  /// The server has read something that we wrote, and not answered it.
  [[nodiscard]] bool was_read(int socket) const;

 private:
  int bytes_ = 0;    ///< how many lay unread after the latest write
  int earlier_ = 0;  ///< and how many just before it
  bool was_read_ = false;
};

}  // namespace redlock::redis
