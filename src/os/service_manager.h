// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::os {

/// The service manager that started this process and wants to hear of its state: systemd with
/// Type=notify. The protocol is sd_notify(3): a datagram to the socket that NOTIFY_SOCKET names.
class ServiceManager {
 public:
  /// Other programs must not inherit this variable: most managers listen to the main process alone.
  static constexpr const char* kVariable = "NOTIFY_SOCKET";

  ServiceManager();

  [[nodiscard]] bool listens() const { return !address_.empty(); }

  /// `state`: lines such as `READY=1`. Waits at most 100 ms for a busy manager, and ignores errors.
  void tell(std::string_view state) const noexcept;

 private:
  std::string address_;  ///< as in unix(7); begins with a null byte for an abstract one
};

}  // namespace redlock::os
