// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <csignal>
#include <vector>

#include "lock/time.h"
#include "os/fd.h"

namespace redlock::os {

/// A signal sent to this process.
struct ReceivedSignal {
  int number;
  pid_t sender;   ///< 0: the kernel
  bool to_group;  ///< by the kernel for a terminal, which sends it to the whole process group
};

/// Does its default action end a process? (signal(7))
bool ends_process_by_default(int signal);

/// Ends this process by the signal's default action, without a core dump. Returns where it cannot:
/// the first process of a PID namespace (a container's) has no default actions.
void end_by(int signal);

/// The signals that redlock acts on or passes to the job, as a descriptor to poll. From
/// construction on they are blocked, in children forked later too; a job must be started with
/// entry_mask(). Signals that were
/// ignored at entry (nohup) are left alone: a blocked signal is queued even if it is ignored.
/// What this process brings on itself by writing (PIPE, XFSZ) is left out: a broken pipe and a file
/// that must not grow are error codes here, neither a death nor a message to the job.
class SignalSource {
 public:
  /// Throws Error (71).
  SignalSource();

  [[nodiscard]] int fd() const { return fd_.get(); }

  /// All that are pending; SIGCHLD included. Never blocks.
  std::vector<ReceivedSignal> take();

  [[nodiscard]] const sigset_t& entry_mask() const { return entry_mask_; }

  /// From now on job control (TSTP, TTIN, TTOU) stops this process no more; TSTP and CONT come out
  /// of take().
  void take_job_control();

  /// Stops this process by a job control signal's default action, after take_job_control(). Returns
  /// true when it has been continued, at `wake_at` by itself: the SIGCONT comes out of take().
  /// False, at once: it could not be stopped, as nobody could continue its process group.
  bool stop_self(int signal, lock::Instant wake_at);

  /// SIGCHLD was ignored at entry. Undone here (nobody could wait for the job), but it is what the
  /// job must see.
  [[nodiscard]] bool child_was_ignored() const { return child_was_ignored_; }

 private:
  Fd fd_;
  sigset_t taken_{};
  sigset_t entry_mask_{};
  bool child_was_ignored_ = false;
};

/// As long as it lives, writing to the terminal from the background (`stty tostop`) and giving it
/// to somebody else does not stop us: with SIGTTOU blocked, both are allowed (tcsetpgrp(3)).
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
