// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "os/fd.h"

namespace redlock::sandbox {

/// The process that owns a sandbox's servers, as `redlock sandbox` sees it. When this object or the
/// process that made it ends, the keeper kills the servers, removes their directory and ends.
class SandboxKeeper {
 public:
  /// Returns when all servers are ready. `password`: what they ask for; empty: nothing. Throws
  /// Error: 69 if there is no server program or a server does not start, 71 if the system refused
  /// something.
  SandboxKeeper(const cli::Sandbox& wanted, const std::string& password);
  ~SandboxKeeper();
  SandboxKeeper(const SandboxKeeper&) = delete;
  SandboxKeeper& operator=(const SandboxKeeper&) = delete;

  [[nodiscard]] const std::vector<std::string>& uris() const { return uris_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  void learn(const std::string& report);
  void end();

  pid_t pid_ = -1;
  os::Fd lifeline_;  ///< nobody writes to it; its end-of-file tells the keeper to end
  std::string directory_;
  std::vector<std::string> uris_;
};

}  // namespace redlock::sandbox
