// SPDX-License-Identifier: MIT
//
// Processes: this one's name and parent, the start of another, one known by its PID, and all of
// them, as /proc lists them.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <functional>
#include <new>
#include <optional>
#include <type_traits>

#include "os/fd.h"
#include "os/signals.h"

namespace redlock::os {

/// Whether our parent runs the same executable file as we do, for the same user: only such a parent
/// may give us orders in the environment. sudo(8) and the like can pass on what a user has set.
bool started_by_same_program();

/// The environment variable; empty also if it is not set.
std::string_view variable(const char* name);

/// Sets what ps(1) and killall(1) show: `name`, cut to 15 bytes, for the executable file, and
/// `title`, as far as there is room, for the arguments.
void rename_process(const char* name, const std::string& title);

/// Empty if there is no such process, or the kernel gives none (before Linux 5.3, or seccomp(2)).
Fd open_pidfd(pid_t pid);

/// Whether that process has ended, reaped or not; false if there is no pidfd.
bool has_ended(const Fd& pidfd);

/// False: it failed (errno), for example because the process is dead.
bool send_signal(const Fd& pidfd, int number);

/// A pidfd of a process that need not be our child. It never refers to a later process with the
/// same PID, and is readable once the process is dead. Empty if there is no such process, if it is
/// dead and not yet reaped, or if the number belongs to a thread. Throws Error (71) if a system
/// call fails.
Fd find_process(pid_t pid);

struct Spawned {
  pid_t pid = -1;           ///< -1: the command could not be started
  int error = 0;            ///< then: errno of vfork(2) or execve(2)
  bool no_process = false;  ///< vfork failed: the system has no process for us
};

/// Where a child goes in job control (credentials(7)), and what binds it to us.
struct Placement {
  bool own_group = true;  ///< leads a new process group; false: joins ours
  int terminal = -1;      ///< a descriptor: the group becomes this terminal's foreground; or -1
  int death_signal = 0;   ///< what the child gets when this process dies; or 0
};

/// Starts argv[0] as execvp(3) does, but leaves no binary file to /bin/sh: with our descriptors,
/// directory and limits, with the signal mask and dispositions that redlock had at its own start,
/// and with exactly `environment` ("NAME=value"). Returns once the command runs or its start has
/// failed. To give it the terminal, SIGTTOU must be blocked.
Spawned spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
              const SignalSource& signals, Placement placement);

/// The file that execvp(3) runs for this command: it passes over directories. If there is none, a
/// file that cannot be executed.
std::string file_of(const std::string& command);

/// Why a command could not be run, in words: errno may be about a file that the command's file
/// names, such as the interpreter of a script.
std::string why_not_run(const std::string& command, int error);

/// This process's environment without the variables named in `dropped`, plus `added`.
std::vector<std::string> environment_with(const std::vector<std::string>& dropped,
                                          const std::vector<std::string>& added);

/// A T in memory that this process shares with every process forked later. T consists of lock-free
/// atomics, because each process may die at any instruction.
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

/// The service manager that started this process and wants to hear of its state: systemd with
/// Type=notify. The protocol is sd_notify(3): a datagram to the socket that NOTIFY_SOCKET names.
/// With WatchdogSec=, systemd ends a service from which it hears nothing for that time;
/// sd_watchdog_enabled(3) has the variables.
class ServiceManager {
 public:
  /// Other programs must not inherit these variables: most managers listen to the main process
  /// alone.
  static constexpr const char* kVariable = "NOTIFY_SOCKET";
  static constexpr const char* kWatchdogTime = "WATCHDOG_USEC";
  static constexpr const char* kWatchdogProcess = "WATCHDOG_PID";

  ServiceManager();

  [[nodiscard]] bool listens() const { return !address_.empty(); }

  /// `state`: lines such as `READY=1`. Waits at most 100 ms for a busy manager, and ignores errors.
  void tell(std::string_view state) const noexcept { send(state, 0); }

  /// When feed_watchdog() is due: twice in the manager's time; kNever if it has no watchdog for us.
  [[nodiscard]] lock::Instant watchdog_at() const { return watchdog_at_; }
  /// WATCHDOG=1, if it is due. Does not wait for a busy manager.
  void feed_watchdog(lock::Instant now) noexcept;

 private:
  void send(std::string_view state, int flags) const noexcept;

  lock::Duration watchdog_pause_{};
  lock::Instant watchdog_at_ = lock::kNever;
  std::string address_;  ///< as in unix(7); begins with a null byte for an abstract one
};

/// A moment in the order in which processes begin. A clock tick is long (10 ms), and within one the
/// PIDs tell, which the kernel gives out in ascending order.
struct BirthMark {
  std::int64_t tick;  ///< as ProcessEntry::start
  pid_t last;         ///< the PID that was given out last; 0: unknown
};

/// A living process, from /proc/PID/stat (proc(5)).
struct ProcessEntry {
  pid_t pid;
  pid_t parent;
  pid_t group;
  std::int64_t start;  ///< clock ticks from boot: no later process with this PID has the same

  /// Whether it began after that moment.
  [[nodiscard]] bool younger_than(const BirthMark& mark) const;
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
  /// process was read (empty if that fails). Needs one descriptor, with `visit` two.
  using Visit = std::function<void(const ProcessEntry&, const Fd& pidfd)>;
  void read(std::vector<ProcessEntry>& living, const Visit& visit = {});

  /// One living process. Needs one descriptor.
  [[nodiscard]] std::optional<ProcessEntry> find(pid_t pid) const;

  /// The present moment. Needs one descriptor.
  [[nodiscard]] BirthMark now() const;

  /// Our children, also dead and hidden ones. Empty if Linux lacks this list. Needs one descriptor.
  void read_own_children(std::vector<pid_t>& children) const;

 private:
  bool fill_reserve();
  [[nodiscard]] Fd open(const char* path) const;

  OpenDirectory proc_;
  std::array<Fd, 2> spare_;
};

}  // namespace redlock::os
