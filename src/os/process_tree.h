// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "os/fd.h"
#include "os/process.h"

namespace redlock::os {

/// The result of a signal to the tree.
struct Pass {
  std::vector<pid_t> not_permitted;  ///< living processes that we may not signal
  bool found_new = false;            ///< a KILL reached a process that none had reached before
};

/// The job: everything that descends from this process, setsid(2) and double forks included. As a
/// child subreaper (prctl(2)) this process inherits every orphan, so no process leaves the tree.
///
/// The tree does not contain strangers: children from before construction (background jobs of a
/// shell that then exec'ed us), the group of exclude_group(), and the descendants of both. A
/// process that was once seen below a stranger stays one when it becomes our child.
class ProcessTree {
 public:
  enum class Denial { none, gone, not_permitted };  ///< of a signal to one process

  /// Throws Error (71) if it cannot find processes (ProcessTable), or if the system lacks a call
  /// that watches or ends them.
  ProcessTree();

  /// Frees memory that the constructor took, enough to find thousands of processes. A process that
  /// must kill calls it before the next attempt when a function here has thrown std::bad_alloc.
  void free_reserved_memory() noexcept { reserved_memory_.reset(); }

  /// To be called in a forked child, which begins a tree of its own. `proc`: from
  /// ProcessTable::open_proc(), and of this process alone.
  void after_fork(OpenDirectory proc);

  /// Excludes the children that exist now, also orphans that have become ours since construction.
  /// To be called before the job's parent is forked.
  void set_apart_children();

  /// Names the job's main process, which gets signals first and without a search in /proc.
  /// `own_group`: it began in a process group of its own. To be called before anybody can have
  /// reaped it, or while its parent is spared.
  void lead(pid_t pid, bool own_group);
  /// The main process has been reaped.
  void leader_reaped() {
    leader_ = -1;
    leader_fd_.reset();
  }

  /// Whether the main process has ended, reaped or not. False also if the kernel gives no pidfd.
  [[nodiscard]] bool leader_ended() const { return has_ended(leader_fd_); }
  /// The main process passes signals on: as long as it lives, the others get only KILL from us.
  void leader_passes_on() { leader_passes_on_ = true; }

  /// Names the parent of the job, which never gets a signal. As long as it lives, the tree consists
  /// of its descendants.
  void spare(pid_t pid) { spared_ = pid; }
  /// That parent is about to be killed: its children become ours.
  void take_over_children();
  /// Looks for orphans of strangers while they differ from the children that a dead parent of the
  /// job leaves to us.
  void note_strangers();
  /// The parent of the job has been reaped.
  void spared_reaped() { spared_ = -1; }

  /// Excludes a process group, whose leader is our child, and all its descendants.
  void exclude_group(pid_t group) { excluded_group_ = group; }

  /// Excludes one process, which has no children of its own. A further call replaces it.
  void exclude(pid_t pid) { excluded_ = pid; }

  static constexpr pid_t kNoGroup = -1;

  /// Sends the signal once to every living descendant, or only to a main process that passes it on.
  /// Unless it is a KILL, a signal that ends a process spares those whose parent had it when they
  /// began, and all below them: a trap has started them.
  /// The child of a descendant that forks at that moment may escape: a caller that must be sure
  /// calls again until empty(). For some milliseconds, a KILL hunts processes that fork and exit in
  /// a loop. `then`: another signal, sent to each after the first; or 0. `except_group`: the
  /// members of this process group have the signal already (getpgrp() is 0 for a group from outside
  /// our PID namespace).
  Pass signal(int number, int then = 0, pid_t except_group = kNoGroup);

  /// Signal `number` has ended the main process. If that got it from us, it had no trap. So the
  /// orphans that were spared got no signal because the main process forked too late: they get it.
  void signal_escaped(int number);

  /// KILL to the leader alone.
  void kill_leader();

  /// Finds the tree as signal() does, which takes as long, and sends nothing. Returns the number of
  /// its processes.
  std::size_t count();

  /// No descendant is left. Dead children count until they are reaped, unless some process is
  /// spared or excluded.
  [[nodiscard]] bool empty();

 private:
  /// Identifies a process for all its life: its PID and the time of its start.
  using Identity = std::pair<pid_t, std::int64_t>;
  enum class OwnChildren { belong, are_strangers };

  void find(Pass* pass = nullptr);
  void signal_early(const ProcessEntry& process, const Fd& pidfd, bool below_spared, Pass& pass);
  void classify(OwnChildren own_children);
  [[nodiscard]] bool parent_spared_alive() const;
  [[nodiscard]] bool is_stranger(pid_t child) const;
  [[nodiscard]] bool is_excluded(pid_t pid, pid_t group) const;
  [[nodiscard]] bool is_spared(const ProcessEntry& process) const;
  [[nodiscard]] bool has_it_by_group(const ProcessEntry& process) const;
  void note_reached(const ProcessEntry& process);
  bool signal_leader(Pass& pass);
  void signal_found(Pass& pass);
  void signal_one(const ProcessEntry& process, const Fd* pidfd, Pass& pass);
  bool signal_children(Pass& pass);
  [[nodiscard]] Denial send(const ProcessEntry& process, const Fd* pidfd) const;
  [[nodiscard]] Denial send_by_pid(pid_t pid) const;
  [[nodiscard]] Denial send_by_pidfd(const Fd& pidfd) const;
  void note(const Identity& process, Denial denial, Pass& pass);

  std::unique_ptr<std::byte[]> reserved_memory_;  ///< not cleared: no page of it is used
  ProcessTable table_;
  std::vector<ProcessEntry> living_;     ///< as last read
  std::vector<ProcessEntry> found_;      ///< the tree, as last found
  std::vector<Identity> strangers_;      ///< not part of the tree; sorted
  std::vector<Identity> killed_;         ///< by the present or latest KILL
  std::vector<Identity> killed_before_;  ///< by the KILL before that; sorted
  int number_ = 0;                       ///< the signal of the present pass
  int then_ = 0;                         ///< and the signal after it
  pid_t except_group_ = kNoGroup;        ///< the members of this group have them
  std::vector<Identity> early_;          ///< members that got it while /proc was being read
  std::vector<pid_t> done_;              ///< processes that got the signal of this pass; sorted
  bool spares_ = false;                  ///< this pass spares what a trap has started
  int spared_from_ = 0;                  ///< the signal of the latest such pass
  BirthMark began_{};                    ///< before anything got that signal
  /// What got it, and the moment before that; sorted.
  std::vector<std::pair<pid_t, BirthMark>> reached_;
  bool has_strangers_ = false;

  pid_t spared_ = -1;
  bool taking_over_ = false;
  pid_t excluded_group_ = -1;
  pid_t excluded_ = -1;
  pid_t leader_ = -1;
  Fd leader_fd_;  ///< pidfd; empty if the kernel has none for us
  bool leads_group_ = false;
  bool leader_passes_on_ = false;
  bool group_done_ = false;  ///< the leader's group has got the signal of the present pass
};

}  // namespace redlock::os
