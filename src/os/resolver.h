// SPDX-License-Identifier: MIT
//
// Resolves host names to socket addresses without ever blocking the loop.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::os {

/// A socket address in the form for connect(2).
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

struct Resolution {
  int error = 0;                   ///< 0, or an EAI_* code of getaddrinfo(3)
  int system_error = 0;            ///< errno, for EAI_SYSTEM
  std::vector<Address> addresses;  ///< in the order to try them; not empty if error is 0
};

/// The address if `host` is one ("127.0.0.1", "::1", "fe80::1%eth0"), none if it is a name.
std::optional<Address> numeric_address(const std::string& host, std::uint16_t port);

/// One lookup, under way from construction on. Nobody can poll or cancel getaddrinfo(3), so it runs
/// in a detached thread of its own; this object may be destroyed while the thread still runs, and
/// the process may exit. A forked child has no such thread: there take() starts the lookup again.
class Lookup {
 public:
  Lookup(std::string host, std::uint16_t port);

  /// Readable once take() has the result. -1: take() has already returned it.
  [[nodiscard]] int fd() const;

  /// The result, once; nothing as long as the thread is at work. Never blocks.
  std::optional<Resolution> take();

 private:
  struct State;
  void begin();

  std::string host_;
  std::uint16_t port_;
  pid_t owner_;  ///< the process that has the thread
  std::shared_ptr<State> state_;
};

}  // namespace redlock::os
