// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace redlock::sandbox {

/// Servers on Unix sockets in a directory of their own (mode 0700, in $TMPDIR or /tmp), as children
/// of this process. The destructor kills and reaps them and removes the directory; if somebody
/// kills this process first, the kernel kills them (PR_SET_PDEATHSIG).
class SandboxServers {
 public:
  /// Starts all servers, and does not wait for them. Throws Error: 69 if there is no server
  /// program, 71 if the system refused something.
  explicit SandboxServers(int count);
  ~SandboxServers();
  SandboxServers(const SandboxServers&) = delete;
  SandboxServers& operator=(const SandboxServers&) = delete;

  /// True when all have answered a PING, false when `stop` (a descriptor) has become readable or
  /// hung up meanwhile. Throws Error (69), with the end of the server's log, if one has ended or
  /// has not answered within 10 s.
  [[nodiscard]] bool wait_until_ready(int stop);

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::vector<std::string> uris() const;

 private:
  struct Server {
    pid_t pid = -1;  ///< -1: reaped
    std::string socket;
    std::string log;
  };
  void end();

  std::string program_;
  std::string directory_;
  std::vector<Server> servers_;
};

}  // namespace redlock::sandbox
