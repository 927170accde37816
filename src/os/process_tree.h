// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <vector>

namespace redlock::os {

/// Everything that descends from this process, setsid(2) and double forks included: as a child
/// subreaper (prctl(2)) it inherits every orphan, so nobody leaves the tree. Children that were
/// there before construction (a shell's background jobs before it exec'ed us) are not the job's and
/// are left alone with all below them. Not inherited by fork(2): a child makes a tree of its own.
class ProcessTree {
 public:
  ProcessTree();

  /// Never to signal that descendant, only those below it.
  void spare(pid_t pid) { spared_ = pid; }

  /// Leaves that child alone with all below it.
  void exclude(pid_t pid) { not_ours_.push_back(pid); }

  /// Sends the signal to every living descendant. One that forks meanwhile may have a child that
  /// escapes this call: whoever must be sure calls again until empty(). A KILL hunts for some
  /// milliseconds those that fork and exit in a loop.
  void signal(int number) const;

  /// No descendant is left. Dead children count until they are reaped, unless there are some that
  /// are spared or excluded.
  [[nodiscard]] bool empty() const;

 private:
  [[nodiscard]] std::vector<pid_t> descendants() const;

  [[nodiscard]] bool is_not_ours(pid_t pid) const;
  void signal_once(int number) const;
  void hunt() const;

  std::vector<pid_t> not_ours_;
  pid_t spared_ = -1;
};

}  // namespace redlock::os
