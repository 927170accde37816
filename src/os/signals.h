// SPDX-License-Identifier: MIT
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <span>
#include <vector>

#include "lock/time.h"
#include "os/fd.h"

namespace redlock::os {

/// What redlock knows of a signal. Real-time signals have no row.
struct KnownSignal {
  int number;
  std::string_view name;  ///< without SIG
  bool passed_on;         ///< redlock acts on it, or passes it to the job
  bool ends_process;      ///< by its default action (signal(7))
};

/// In the order of the numbers.
std::span<const KnownSignal> known_signals();

struct ReceivedSignal {
  int number;
  pid_t sender;      ///< 0: the kernel, or a process that our PID namespace does not contain
  bool from_kernel;  ///< for a terminal, a timer, a limit
};

bool ends_process_by_default(int signal);

/// Ends this process by the signal's default action, without a core dump. Returns if it cannot: the
/// first process of a PID namespace (a container's) has no default actions.
void end_by(int signal);

/// The signals that redlock acts on or passes to the job, as a descriptor to poll. The constructor
/// blocks them, also for children forked later; a job must start with entry_mask(). It leaves alone
/// each signal that was ignored at entry (nohup): the kernel queues a blocked signal even if it is
/// ignored. take() leaves out PIPE and XFSZ from our own writes, because write(2) returns an error.
/// From the constructor on, no signal writes our memory, which has passwords, into a core dump; a
/// job must start with entry_core_limit().
class SignalSource {
 public:
  /// Throws Error (71).
  SignalSource();

  [[nodiscard]] int fd() const { return fd_.get(); }

  /// All that are pending; SIGCHLD included. Never blocks.
  std::vector<ReceivedSignal> take();

  [[nodiscard]] const sigset_t& entry_mask() const { return entry_mask_; }
  [[nodiscard]] const rlimit& entry_core_limit() const { return entry_core_limit_; }

  /// From now on job control does not stop this process; TSTP and CONT come out of take().
  void take_job_control();

  /// Stops this process by a job control signal's default action, after take_job_control(). Returns
  /// true when somebody, or a timer at `wake_at`, has continued it: the SIGCONT comes out of
  /// take(). Returns false without a stop if nobody could continue its process group.
  bool stop_self(int signal, lock::Instant wake_at);

  /// SIGCHLD was ignored at entry, and the job must see it ignored. The constructor undoes that:
  /// otherwise nobody could wait for the job.
  [[nodiscard]] bool child_was_ignored() const { return child_was_ignored_; }

 private:
  Fd fd_;
  sigset_t taken_;
  sigset_t entry_mask_{};
  rlimit entry_core_limit_{};
  bool child_was_ignored_ = false;
};

/// In shared memory: for each signal, when a process last got it, in ns on the lock::BootClock.
class SignalNotes {
 public:
  void note(int signal);
  [[nodiscard]] bool has(int signal, lock::Instant since) const;

 private:
  std::array<std::atomic<std::int64_t>, 65> times_{};
};

/// Whether the kernel has this signal for a process that blocks it and has not run since. False if
/// that cannot be read.
bool has_pending(pid_t pid, int signal) noexcept;

/// The kernel tells a process who sent it a signal, but not whether the sender meant this process
/// alone, its process group (kill -TERM -PGID, Ctrl-C) or every process of a service. A witness is
/// a child process that gets what the group gets, and notes it. It dies with us.
class SignalWitness {
 public:
  enum class Group { ours, own };

  SignalWitness() = default;
  ~SignalWitness() { end(); }
  SignalWitness(const SignalWitness&) = delete;
  SignalWitness& operator=(const SignalWitness&) = delete;

  /// If the fork fails, there are no notes.
  void start(SignalNotes& notes, Group group);
  /// -1 if there is no process.
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Continues the witness, after somebody has continued this process and maybe not its group.
  void proceed() const {
    if (pid_ > 0) ::kill(pid_, SIGCONT);
  }
  /// The caller has reaped a child.
  void reaped(pid_t pid) {
    if (pid == pid_) pid_ = -1;
  }
  void end();

 private:
  pid_t pid_ = -1;
};

}  // namespace redlock::os
