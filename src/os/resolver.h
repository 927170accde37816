// SPDX-License-Identifier: MIT
//
// Host names to socket addresses without ever blocking the loop.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::os {

/// A socket address as connect(2) takes it.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

/// What a look-up came to.
struct Resolution {
  int error = 0;                   ///< 0, or an EAI_* code of getaddrinfo(3)
  int system_error = 0;            ///< errno, for EAI_SYSTEM
  std::vector<Address> addresses;  ///< in the order to try them; not empty if error is 0
};

/// The address `host` spells out ("127.0.0.1", "::1", "fe80::1%eth0"), none if it is a name.
std::optional<Address> numeric_address(const std::string& host, std::uint16_t port);

/// One look-up, under way from construction on. getaddrinfo(3) can neither be polled nor cancelled,
/// so it runs in a detached thread of its own; this object may be destroyed while the thread still
/// runs, and the process may exit. In a forked child, which has no such thread, take() begins anew.
class Lookup {
 public:
  Lookup(std::string host, std::uint16_t port);
  ~Lookup();
  Lookup(Lookup&&) noexcept;
  Lookup& operator=(Lookup&&) noexcept;

  /// Readable once take() has something to give. -1: it has already.
  [[nodiscard]] int fd() const;

  /// The result, once; nothing as long as the thread is at work. Never blocks.
  std::optional<Resolution> take();

 private:
  struct State;
  void begin();

  std::string host_;
  std::uint16_t port_;
  pid_t owner_;  ///< whose thread is at work
  std::shared_ptr<State> state_;
};

}  // namespace redlock::os
