// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <vector>

namespace redlock::os {

/// Everything that descends from this process, setsid(2) and double forks included: as a child
/// subreaper (prctl(2)) it inherits every orphan, so nobody leaves the tree. Children that were
/// there before construction (a shell's background jobs before it exec'ed us) are not the job's and
/// are left alone with all below them.
class ProcessTree {
 public:
  ProcessTree();

  /// Sends the signal to every living descendant. One that forks meanwhile may have a child that
  /// escapes this call: whoever must be sure calls again until empty().
  void signal(int number) const;

  /// No living descendant.
  [[nodiscard]] bool empty() const;

 private:
  [[nodiscard]] std::vector<pid_t> descendants() const;

  std::vector<pid_t> not_ours_;
};

}  // namespace redlock::os
