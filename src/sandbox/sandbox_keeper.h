// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "os/fd.h"

namespace redlock::sandbox {

/// The process that owns a sandbox's servers, seen from `redlock sandbox`. It lives as long as this
/// object, or as the process that made it, whichever ends first; then it kills the servers and
/// removes their directory.
class SandboxKeeper {
 public:
  /// Returns when all servers answer. Throws Error: 69 without a server program or with servers
  /// that do not come up, 71 if the system refused.
  explicit SandboxKeeper(int servers);
  ~SandboxKeeper();
  SandboxKeeper(const SandboxKeeper&) = delete;
  SandboxKeeper& operator=(const SandboxKeeper&) = delete;

  [[nodiscard]] const std::vector<std::string>& uris() const { return uris_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  void learn(const std::string& report);
  void end();

  pid_t pid_ = -1;
  os::Fd lifeline_;  ///< never written to; its end-of-file tells the keeper
  std::string directory_;
  std::vector<std::string> uris_;
};

}  // namespace redlock::sandbox
