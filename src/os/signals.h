// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <csignal>
#include <span>
#include <string_view>
#include <vector>

#include "lock/time.h"
#include "os/fd.h"

namespace redlock::os {

/// What redlock knows of a signal. Real-time signals have no row: libc keeps some of them for
/// itself.
struct KnownSignal {
  int number;
  std::string_view name;  ///< without SIG
  bool passed_on;         ///< redlock acts on it, or passes it to the job
  bool ends_process;      ///< by its default action (signal(7))
};

/// In the order of the numbers.
std::span<const KnownSignal> known_signals();

/// A signal sent to this process.
struct ReceivedSignal {
  int number;
  pid_t sender;      ///< 0: the kernel, or a process that our PID namespace does not contain
  bool from_kernel;  ///< for a terminal, a timer, a limit
};

/// Whether the signal's default action ends a process (signal(7)).
bool ends_process_by_default(int signal);

/// Ends this process by the signal's default action, without a core dump. Returns if it cannot: the
/// first process of a PID namespace (a container's) has no default actions.
void end_by(int signal);

/// The signals that redlock acts on or passes to the job, as a descriptor to poll. The constructor
/// blocks them, also for children forked later; a job must start with entry_mask(). It leaves alone
/// each signal that was ignored at entry (nohup): the kernel queues a blocked signal even if it is
/// ignored. PIPE and XFSZ are not among them: a broken pipe and a file that must not grow are error
/// codes for this process, neither its death nor a message to the job.
class SignalSource {
 public:
  /// Throws Error (71).
  SignalSource();

  [[nodiscard]] int fd() const { return fd_.get(); }

  /// All that are pending; SIGCHLD included. Never blocks.
  std::vector<ReceivedSignal> take();

  [[nodiscard]] const sigset_t& entry_mask() const { return entry_mask_; }

  /// From now on job control (TSTP, TTIN, TTOU) no longer stops this process; TSTP and CONT come
  /// out of take().
  void take_job_control();

  /// Stops this process by a job control signal's default action, after take_job_control(). Returns
  /// true when somebody has continued it, or, at `wake_at`, itself: the SIGCONT comes out of
  /// take(). False, at once: the process did not stop, as nobody could continue its process group.
  bool stop_self(int signal, lock::Instant wake_at);

  /// SIGCHLD was ignored at entry. The constructor undoes that (otherwise nobody could wait for the
  /// job), but the job must see it ignored.
  [[nodiscard]] bool child_was_ignored() const { return child_was_ignored_; }

 private:
  Fd fd_;
  sigset_t taken_{};
  sigset_t entry_mask_{};
  bool child_was_ignored_ = false;
};

/// As long as this object lives, a background process may write to the terminal (`stty tostop`) and
/// give it to another group without being stopped: SIGTTOU is blocked (tcsetpgrp(3)).
class TerminalOutput {
 public:
  TerminalOutput();
  ~TerminalOutput();
  TerminalOutput(const TerminalOutput&) = delete;
  TerminalOutput& operator=(const TerminalOutput&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace redlock::os
