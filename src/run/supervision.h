// SPDX-License-Identifier: MIT
//
// How the two processes of `redlock run` communicate. Once redlock holds the lock:
//
//   supervisor    run/supervisor.h: the PID that the user sees; signals, the terminal, a timer
//    └─ worker    run/runner.h: servers, session, renewals
//        └─ job
//
// Both are subreapers: if one of them is killed, the other has the whole job below it and ends it
// before the lease is over. Neither waits for a message of the other: the supervisor reads the
// worker's state from shared memory, and each learns of the other's death from a SIGCHLD or a
// pidfd. The pipe from the worker carries messages on which the supervisor must act immediately.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "exit_status.h"
#include "lock/watch.h"
#include "os/loop.h"
#include "os/process.h"

namespace redlock::run {

/// A process of the job that nobody can kill (it has other rights, or waits for a device) does not
/// keep redlock alive for longer than this beyond the end of the lease.
inline constexpr lock::Duration kLastAttempts = std::chrono::seconds(5);

/// In an os::SharedPage. Where nothing else is said, the worker writes, and once it is dead, the
/// supervisor.
struct Supervision {
  static constexpr int kNone = -1;

  /// By both: who sets this first decides, the worker that it starts the job, or its parent that it
  /// is too late. So no job that has begun is taken for one that has not, and started again.
  std::atomic<bool> start_decided{false};
  /// By the supervisor: it has got a signal that ends the job.
  std::atomic<bool> told_to_end{false};
  std::atomic<bool> stopped_job{false};  ///< the worker has stopped the job, now or earlier
  std::atomic<int> job_status{kNone};  ///< of the job's main process, once somebody has reaped it
  std::atomic<int> job_signal{0};  ///< the signal that ended it; 0: none. Stored before job_status
  std::atomic<std::int64_t> job_ended{0};  ///< the time of that, on the lock::BootClock
  std::atomic<bool> lost{false};           ///< an exit_status of 80 is redlock's own, not the job's
  os::SignalNotes heard_by_witness;        ///< by the supervisor's os::SignalWitness
  os::SignalNotes heard_by_worker;
  std::atomic<int> exit_signal{0};     ///< redlock ends by this signal; 0: none. Before exit_status
  std::atomic<int> hook_group{kNone};  ///< process group of --on-lost, once that has started
  std::atomic<int> exit_status{kNone};  ///< redlock's own, once the worker is done

  /// By the process that has reaped the job's main process: the worker or, if that is dead, the
  /// supervisor.
  void note_job_end(Exit end);

  /// A reader may find values of two different moments. That is harmless: both were true when
  /// written, and a later act_by comes with a later valid_until.
  void publish(const lock::WorkerState& state) {
    valid_until_.store(state.valid_until.time_since_epoch().count());
    act_by_.store(state.act_by.time_since_epoch().count());
    head_start_.store(state.head_start.count());
    phase_.store(state.phase);
    if (state.phase == lock::WorkerState::Phase::stopping) stopped_job.store(true);
  }
  [[nodiscard]] lock::WorkerState worker_state() const {
    return {.phase = phase_.load(),
            .act_by = lock::Instant(lock::Duration(act_by_.load())),
            .valid_until = lock::Instant(lock::Duration(valid_until_.load())),
            .head_start = lock::Duration(head_start_.load())};
  }

 private:
  std::atomic<lock::WorkerState::Phase> phase_{lock::WorkerState::Phase::running};
  std::atomic<std::int64_t> act_by_{0};
  std::atomic<std::int64_t> valid_until_{0};
  std::atomic<std::int64_t> head_start_{0};
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
};

/// A message from the worker, written whole (far less than PIPE_BUF).
struct WorkerMessage {
  enum class Kind : int {
    job_started,  ///< value: its PID
    job_too_late,
    not_started,  ///< the system refused something, and the worker has printed what
    job_failed,   ///< value: errno of exec
    no_process,   ///< value: errno of vfork
    job_stop,     ///< value: the wait status of a job that was stopped or continued
    act_sooner,   ///< the state has an earlier act_by than before
  };
  Kind kind;
  int value;
};

/// The worker's side: it tells the supervisor its state, and notices the supervisor's death.
class Worker {
 public:
  /// In the forked child, whose parent is `supervisor`; `pidfd` is that of the parent.
  Worker(pid_t supervisor, os::Fd pidfd, os::Fd messages, Supervision& supervision);

  /// The loop must watch this: it is readable once the supervisor is dead. If the kernel refuses a
  /// pidfd, there is nothing to watch, and the worker gets a SIGCHLD instead.
  [[nodiscard]] os::Interest interest() const { return {.fd = supervisor_.get(), .read = true}; }
  [[nodiscard]] bool supervisor_is_gone();

  /// False: the supervisor is dead.
  bool tell(WorkerMessage::Kind kind, int value = 0) const;
  /// Publishes the state, and wakes the supervisor if it would sleep too long by the state before.
  void publish(const lock::WorkerState& state);

  /// Continues the supervisor if it was stopped, so that it sees the job's new state.
  void continue_supervisor() const;

  /// Publishes how redlock must end, and ends this process.
  [[noreturn]] void leave(Exit result);

 private:
  os::Fd supervisor_;  ///< pidfd, until the worker has noticed the supervisor's death
  pid_t supervisor_pid_;
  os::Fd messages_;
  Supervision& supervision_;
  bool gone_ = false;       ///< the supervisor is
  lock::Instant act_by_{};  ///< as last published
};

/// What a worker needs from the system to start a job, taken before redlock asks for the lock.
struct Reserve {
  Reserve();  ///< throws Error (71)

  os::SharedPage<Supervision> supervision;
  os::Pipe messages;
  /// A pidfd of this process, the future parent of the worker; none if the kernel has no pidfds.
  os::Fd supervisor;
  os::Loop loop;           ///< the worker's own
  os::OpenDirectory proc;  ///< the worker's own
};

}  // namespace redlock::run
