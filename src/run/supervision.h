// SPDX-License-Identifier: MIT
//
// How supervisor and worker (run/run.h) communicate, and how either of them ends the job. Both are
// subreapers: if one of them is killed, the other has the whole job below it and ends it before the
// lease is over. Neither waits for a message of the other: the supervisor reads the worker's state
// from shared memory, and each learns of the other's death from a SIGCHLD or a pidfd. The pipe from
// the worker carries messages on which the supervisor must act immediately.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "error.h"
#include "lock/watch.h"
#include "os/loop.h"
#include "os/process_tree.h"
#include "os/stderr.h"

namespace redlock::run {

/// A process of the job that nobody can kill (it has other rights, or waits for a device) does not
/// keep redlock alive for longer than this beyond the end of the lease, or beyond the first KILL if
/// that comes later: the whole machine may have been suspended.
inline constexpr lock::Duration kLastAttempts = std::chrono::seconds(5);

/// Whoever signals all processes of a service signals one after the other, timeout(1) first its
/// child and then the group. So each process waits this long before it decides what the others got.
inline constexpr std::chrono::milliseconds kHold(50);

/// In an os::SharedPage. Where nothing else is said, the worker writes, or the supervisor after it.
struct Supervision {
  static constexpr int kNone = -1;

  /// By both: who sets this first decides, the worker that it starts the job, or its parent that it
  /// is too late. So no job that has begun is taken for one that has not, and started again.
  std::atomic<bool> start_decided{false};
  /// By the supervisor, a bit for each signal that ends a process by default: it has got that one.
  std::atomic<std::uint64_t> told{0};
  /// The lock::StopReason for which the worker has stopped the job, now or earlier.
  std::atomic<int> stop_reason{kNone};
  std::atomic<std::int64_t> job_ended{0};  ///< when note_job_end() was called, on lock::BootClock
  os::SignalNotes heard_by_witness;        ///< by the supervisor's os::SignalWitness
  os::SignalNotes heard_by_worker;
  std::atomic<int> hook_group{kNone};  ///< process group of --on-lost, once that has started
  /// Once the worker is done: redlock's own exit status, or 0: redlock ends as the job has ended.
  std::atomic<int> verdict{kNone};

  /// By the worker, which reaps the job's main process, or if that is dead, by the supervisor.
  void note_job_end(int wait_status);
  /// How the job's main process ended, once somebody has reaped it.
  [[nodiscard]] std::optional<Exit> job() const;
  /// How redlock ends, once there is a verdict.
  [[nodiscard]] Exit exit() const;

  /// By either process, before the job's descendants have the signal from us.
  void note_told(int signal) { told.fetch_or(bit_of(signal)); }
  [[nodiscard]] bool has_told(int signal) const { return (told.load() & bit_of(signal)) != 0; }
  /// By the worker, about the supervisor: an order to end that it has got, and had no time to read,
  /// counts as told.
  void note_pending(pid_t supervisor);
  /// How the main process ended, as far as it is known now.
  [[nodiscard]] lock::JobEnd job_end() const;

  /// A reader may find values of two different moments. That is harmless: both were true when
  /// written, and a later act_by comes with a later valid_until.
  void publish(const lock::WorkerState& state) {
    valid_until_.store(state.valid_until.time_since_epoch().count());
    act_by_.store(state.act_by.time_since_epoch().count());
    head_start_.store(state.head_start.count());
    gone_by_.store(state.gone_by.time_since_epoch().count());
    phase_.store(state.phase);
    if (state.stopped) stop_reason.store(static_cast<int>(*state.stopped));
  }
  [[nodiscard]] lock::WorkerState worker_state() const {
    return {.phase = phase_.load(),
            .act_by = lock::Instant(lock::Duration(act_by_.load())),
            .valid_until = lock::Instant(lock::Duration(valid_until_.load())),
            .head_start = lock::Duration(head_start_.load()),
            .gone_by = lock::Instant(lock::Duration(gone_by_.load()))};
  }

 private:
  static constexpr std::uint64_t bit_of(int signal) {  // 1 to 64
    return std::uint64_t{1} << static_cast<unsigned>(signal - 1);
  }

  std::atomic<int> job_{kNone};  ///< wait status (waitpid(2)) of the job's main process
  std::atomic<lock::WorkerState::Phase> phase_{lock::WorkerState::Phase::running};
  std::atomic<std::int64_t> act_by_{0};
  std::atomic<std::int64_t> valid_until_{0};
  std::atomic<std::int64_t> head_start_{0};
  std::atomic<std::int64_t> gone_by_{0};
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
};

/// A message from the worker, written whole (far less than PIPE_BUF).
struct WorkerMessage {
  enum class Kind : int {
    job_started,  ///< value: its PID
    job_too_late,
    not_started,  ///< a system call failed, and the worker has printed what
    job_failed,   ///< value: errno of exec
    no_process,   ///< value: errno of vfork
    job_stop,     ///< value: the wait status of a job that was stopped or continued
    act_sooner,   ///< the state has an earlier act_by than before
  };
  Kind kind;
  int value;
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

/// Kills the job. Says once which processes redlock is not permitted to kill. While they live, the
/// worker renews the lock as long as it can.
class JobKiller {
 public:
  /// `lock`: as sentences name it.
  JobKiller(os::ProcessTree& tree, os::Stderr& out, const std::string& lock)
      : tree_(tree), out_(out), lock_(lock) {}

  /// KILL to every process of the job. True: it reached one that no KILL had reached before.
  bool kill();

  /// When to stop trying (kLastAttempts).
  [[nodiscard]] lock::Instant gives_up_at(lock::Instant lease_end) const {
    return std::max(lease_end, first_kill_) + kLastAttempts;
  }

  /// The time from the first KILL until every process of the job is dead.
  [[nodiscard]] lock::Duration cost();

  /// Reports that redlock ends although processes of the job are left (kLastAttempts).
  void say_left();

  /// Kills the job and all its descendants, for at most `patience`. True: no process is left.
  bool kill_all(lock::Duration patience) noexcept;

 private:
  void say_not_permitted(const std::vector<pid_t>& pids);

  os::ProcessTree& tree_;
  os::Stderr& out_;
  const std::string& lock_;
  lock::Instant first_kill_{};  ///< by kill(); the epoch: none yet
  bool said_left_out_ = false;
};

/// `--on-lost COMMAND`: /bin/sh runs it once, when redlock stops the job because of the lock. It is
/// no part of the job: redlock does not stop it, and the release of the lock does not wait for it.
class LostHook {
 public:
  /// `command`: empty if there is none. `environment`: its own.
  LostHook(std::string command, std::vector<std::string> environment)
      : command_(std::move(command)), environment_(std::move(environment)) {}

  /// Starts the command; does nothing if called again.
  void start(os::ProcessTree& tree, const os::SignalSource& signals, os::Stderr& out);

  /// The process group of the command and of what it leaves in the background; -1: not started.
  [[nodiscard]] pid_t group() const { return group_; }

  /// The latest moment at which finish() returns.
  [[nodiscard]] lock::Instant limit() const { return limit_; }

  void reaped(pid_t pid) {
    if (pid == pid_) pid_ = -1;
  }

  /// Waits for the command, for at most 10 s from its start, and then kills it. Reaps children.
  void finish(os::Stderr& out);

 private:
  std::string command_;
  std::vector<std::string> environment_;
  pid_t pid_ = -1;
  pid_t group_ = -1;
  lock::Instant limit_{};
};

}  // namespace redlock::run
