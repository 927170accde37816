// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "os/fd.h"

namespace redlock::os {

/// Whether our parent runs the same executable file as we do, for the same user: only such a parent
/// may give us orders in the environment. sudo(8) and the like can pass on what a user has set.
bool started_by_same_program();

/// Sets what ps(1) and killall(1) show for this process: `name`, cut to 15 bytes, in place of the
/// name of the executable file; `title`, as far as there is room, in place of the arguments.
void rename_process(const char* name, const std::string& title);

/// Empty if the kernel refuses it (before Linux 5.3, or by a seccomp filter), or there is no such
/// process.
Fd open_pidfd(pid_t pid);

/// A process that need not be our child, by a pidfd: the pidfd never refers to another process,
/// even if that gets the same PID later (pidfd_open(2)).
class Process {
 public:
  /// None: there is no such process, or it is dead and only waits to be reaped, or the number
  /// belongs to a thread. Throws Error (71) if the system refuses.
  static std::optional<Process> find(pid_t pid);

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable once the process is dead.
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool gone() const;

  /// Does nothing if the process is dead, or we may not signal it.
  void signal(int number) const;

 private:
  Process(pid_t pid, Fd fd) : pid_(pid), fd_(std::move(fd)) {}

  pid_t pid_;
  Fd fd_;
};

/// A T in memory that this process shares with every process forked later. T consists of lock-free
/// atomics: each of these processes may die at any instruction.
template <class T>
class SharedPage {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  /// Throws Error (71).
  SharedPage() {
    void* const memory =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    content_ = ::new (memory) T{};
  }
  ~SharedPage() { ::munmap(static_cast<void*>(content_), sizeof(T)); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  T& operator*() const { return *content_; }
  T* operator->() const { return content_; }

 private:
  T* content_;
};

}  // namespace redlock::os
