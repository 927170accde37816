// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "os/fd.h"

namespace redlock::os {

/// A living process, from /proc/PID/stat (proc(5)).
struct ProcessEntry {
  pid_t pid;
  pid_t parent;
  pid_t group;
  std::int64_t start;  ///< clock ticks from boot: no later process with this PID has the same
};

/// All processes, as /proc lists them. A process that must kill in time cannot wait for memory or a
/// descriptor: this class opens /proc once, and keeps what it needs to read it in reserve.
class ProcessTable {
 public:
  /// Throws Error (71): /proc is not mounted, or it belongs to another PID namespace, or too few
  /// descriptors are free.
  ProcessTable();

  /// /proc itself. Throws Error (71).
  [[nodiscard]] static OpenDirectory open_proc();

  /// To be called in a forked child, with a /proc that the parent has opened for it: otherwise both
  /// would move the same read position.
  void use(OpenDirectory proc) { proc_ = std::move(proc); }

  /// Lends the descriptors of the reserve to the functions below, for as long as it lives.
  class Loan {
   public:
    explicit Loan(ProcessTable& table) : table_(table) {
      for (Fd& spare : table_.spare_) spare.reset();
    }
    ~Loan() { table_.fill_reserve(); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    ProcessTable& table_;
  };

  /// Every living process in the order of the PIDs, except those that /proc hides from this process
  /// (hidepid, in proc(5)). `visit` gets each together with a pidfd, which was opened before the
  /// process was read (empty if the kernel refuses it). Needs one descriptor, with `visit` two.
  using Visit = std::function<void(const ProcessEntry&, const Fd& pidfd)>;
  void read(std::vector<ProcessEntry>& living, const Visit& visit = {});

  /// One living process. Needs one descriptor.
  [[nodiscard]] std::optional<ProcessEntry> look(pid_t pid) const;

  /// Our children, also dead and hidden ones. Empty if Linux lacks this list. Needs one descriptor.
  void read_own_children(std::vector<pid_t>& children) const;

 private:
  bool fill_reserve();
  [[nodiscard]] Fd open(const char* path) const;

  OpenDirectory proc_;
  std::array<Fd, 2> spare_;
};

}  // namespace redlock::os
