// SPDX-License-Identifier: MIT
//
// For every signal, this finds the processes of the job again, in one reading of /proc, while they
// end, fork and change parents. Three facts make the result exact where it must be:
//
//   A process is younger than its parent, and than the subreaper that inherits it. If it is older
//   than the process that now has its parent's PID, that PID has been used again.
//
//   The kernel can use a PID again as soon as its process has been reaped. So this code opens a
//   pidfd first and reads the time of the start again after that: then both belong to the same
//   process. Our own children need neither, as only we reap them.
//
//   As long as the parent of the job lives, the job is below it. If the parent still lives after
//   the reading, none of our children in that reading is a child that it left to us.
#include "os/process_tree.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "error.h"

namespace redlock::os {

namespace {

constexpr std::size_t kReservedMemory = std::size_t{1024} * 1024;

/// For a process that was not read from /proc.
constexpr std::int64_t kUnknownStart = -1;

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// `pid` is our child, and it is alive; or, with `dead_too`, dead and not reaped.
bool has_child(pid_t pid, bool dead_too) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return false;
  }
  return dead_too || info.si_pid == 0;
}

/// `sent`: whether the system call that sends a signal succeeded.
ProcessTree::Denial denial_of(bool sent) {
  if (sent) return ProcessTree::Denial::none;
  return errno == EPERM ? ProcessTree::Denial::not_permitted : ProcessTree::Denial::gone;
}

/// Without these calls, a process that has ended would count as running, or redlock could not end
/// it. A process is never its own child, so the calls change nothing.
void require_calls() {
  const pid_t self = ::getpid();
  siginfo_t info{};
  const auto require = [](bool works, const char* call) {
    if (works) return;
    throw Error(ExitStatus::os_error, std::string(call) + ": " + std::strerror(errno) +
                                          "; redlock needs it to watch and end a job");
  };
  require(::waitid(P_PID, static_cast<id_t>(self), &info, WEXITED | WNOHANG | WNOWAIT) == 0 ||
              errno == ECHILD,
          "waitid");
  require(::waitpid(self, nullptr, WNOHANG) == 0 || errno == ECHILD, "wait4");
  require(::kill(self, 0) == 0, "kill");
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

template <class T>
bool holds(const std::vector<T>& sorted, const T& element) {
  return std::binary_search(sorted.begin(), sorted.end(), element);
}

template <class T>
void insert(std::vector<T>& sorted, const T& element) {
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), element), element);
}

bool by_parent(const ProcessEntry& one, const ProcessEntry& other) {
  return one.parent < other.parent;
}

}  // namespace

ProcessTree::ProcessTree()
    : reserved_memory_(std::make_unique_for_overwrite<std::byte[]>(kReservedMemory)) {
  require_calls();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // Nearly always there is no child yet, and one system call says so.
  has_strangers_ = has_children();
  set_apart_children();
}

void ProcessTree::after_fork(OpenDirectory proc) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  table_.use(std::move(proc));
  strangers_.clear();
  has_strangers_ = false;
}

void ProcessTree::set_apart_children() {
  if (!has_strangers_) return;
  const ProcessTable::Loan loan(table_);
  table_.read(living_);
  classify(OwnChildren::are_strangers);
}

/// If the parent of the job reaped it before pidfd_open, its PID may belong to another process.
void ProcessTree::lead(pid_t pid, bool own_group) {
  const ProcessTable::Loan loan(table_);
  leader_fd_ = open_pidfd(pid);
  const std::optional<ProcessEntry> entry = table_.find(pid);
  const bool is_child = has_child(pid, true);
  const bool is_another =
      !is_child && (entry ? entry->parent != spared_ : leader_fd_ && !has_child(spared_, false));
  if (is_another || (!is_child && !entry && !leader_fd_)) {
    leader_fd_.reset();
    return;
  }
  leader_ = pid;
  leads_group_ = own_group;
}

void ProcessTree::note_strangers() {
  if (!has_strangers_ || !parent_spared_alive()) return;
  const ProcessTable::Loan loan(table_);
  find();
}

void ProcessTree::take_over_children() {
  note_strangers();
  taking_over_ = true;
}

bool ProcessTree::parent_spared_alive() const {
  return spared_ > 0 && !taking_over_ && has_child(spared_, false);
}

/// With a pass, each process that is known to belong to the tree gets the signal during the
/// reading: PIDs come in ascending order, so most parents come before their children. A second
/// reading of thousands of processes would cost as much as the first.
void ProcessTree::find(Pass* pass) {
  if (excluded_group_ > 0 && ::kill(-excluded_group_, 0) != 0 && errno == ESRCH) {
    excluded_group_ = -1;  // it has no process left, and its ID may be used again
  }
  bool below_spared = parent_spared_alive();
  for (bool settled = false; !settled;) {
    early_.clear();
    const auto visit = [&](const ProcessEntry& process, const Fd& pidfd) {
      signal_early(process, pidfd, below_spared, *pass);
    };
    table_.read(living_, pass == nullptr ? ProcessTable::Visit() : visit);
    // If the parent died during the reading, its children may be neither below it nor below us.
    const bool still = parent_spared_alive();
    settled = still == below_spared;
    below_spared = still;
  }
  classify(below_spared ? OwnChildren::are_strangers : OwnChildren::belong);
}

/// From the top downwards: this meets each process once, as it has one parent.
void ProcessTree::classify(OwnChildren own_children) {
  struct Visit {
    ProcessEntry process;
    bool stranger;
  };
  found_.clear();
  std::stable_sort(living_.begin(), living_.end(), by_parent);
  std::vector<Identity> strangers;
  std::vector<Visit> visits;
  const auto visit_children = [&](const ProcessEntry& parent, bool strangers_below) {
    const auto [first, last] = std::equal_range(
        living_.begin(), living_.end(),
        ProcessEntry{.pid = 0, .parent = parent.pid, .group = 0, .start = 0}, by_parent);
    for (auto child = first; child != last; ++child) {
      if (child->start < parent.start) continue;
      const bool stranger =
          child->pid != spared_ &&
          (strangers_below || holds(strangers_, Identity(child->pid, child->start)) ||
           is_excluded(child->pid, child->group));
      visits.push_back({*child, stranger});
    }
  };
  visit_children({.pid = ::getpid(), .parent = 0, .group = 0, .start = 0},
                 own_children == OwnChildren::are_strangers);
  for (std::size_t next = 0; next < visits.size(); ++next) {
    const Visit visit = visits[next];
    visit_children(visit.process, visit.stranger);
    if (visit.process.pid == spared_) continue;
    if (visit.stranger) {
      strangers.emplace_back(visit.process.pid, visit.process.start);
    } else {
      found_.push_back(visit.process);
    }
  }
  std::sort(strangers.begin(), strangers.end());
  strangers_ = std::move(strangers);
}

Pass ProcessTree::signal(int number, int then, pid_t except_group) {
  Pass pass;
  number_ = number;
  then_ = then;
  except_group_ = except_group;
  done_.clear();
  if (number == SIGKILL) killed_before_ = std::exchange(killed_, {});
  const ProcessTable::Loan loan(table_);
  spares_ = number != SIGKILL && number != 0 && ends_process_by_default(number);
  if (spares_) {
    spared_from_ = number;
    began_ = table_.now();
    reached_.clear();
  }
  if (signal_leader(pass) && leader_passes_on_ && number != SIGKILL && number != 0) return pass;
  find(&pass);
  signal_found(pass);
  // While the parent of the job lives, our own children are not the job's.
  if (!parent_spared_alive() && signal_children(pass)) {
    find();
    signal_found(pass);
  }
  if (number == SIGKILL) std::sort(killed_.begin(), killed_.end());
  return pass;
}

void ProcessTree::signal_escaped(int number) {
  if (number == 0 || number != spared_from_ || !has_children()) return;
  const ProcessTable::Loan loan(table_);
  Pass pass;
  number_ = number;
  group_done_ = spares_ = false;
  find();
  done_.clear();
  for (const ProcessEntry& process : found_) {
    const bool orphan = process.parent == ::getpid() || process.parent == spared_;
    if (!(orphan && process.younger_than(began_)) && !holds(done_, process.parent)) continue;
    insert(done_, process.pid);
    signal_one(process, nullptr, pass);
  }
}

/// By the moment at which its parent got the signal. The parent of an orphan is unknown, and
/// so is one that was spared itself: then by the beginning of the pass.
bool ProcessTree::is_spared(const ProcessEntry& process) const {
  if (!spares_ || process.pid == leader_) return false;
  const auto parent = std::ranges::lower_bound(reached_, process.parent, {},
                                               [](const auto& each) { return each.first; });
  const bool known = parent != reached_.end() && parent->first == process.parent;
  return process.younger_than(known ? parent->second : began_);
}

void ProcessTree::note_reached(const ProcessEntry& process) {
  if (!spares_ || has_it_by_group(process)) return;
  const auto place = std::ranges::upper_bound(reached_, process.pid, {},
                                              [](const auto& each) { return each.first; });
  reached_.insert(place, {process.pid, table_.now()});
}

void ProcessTree::kill_leader() {
  if (leader_ < 0) return;
  if (has_child(leader_, true)) {
    ::kill(leader_, SIGKILL);
  } else if (leader_fd_) {
    send_signal(leader_fd_, SIGKILL);
  }
}

/// Signals the group only if the leader is our child: then nobody but us can free its ID. Returns
/// whether the leader got the signal.
bool ProcessTree::signal_leader(Pass& pass) {
  group_done_ = false;
  if (leader_ < 0) return false;
  if (except_group_ >= 0 && ::getpgid(leader_) == except_group_) {
    done_.push_back(leader_);
    return true;
  }
  const bool is_child = has_child(leader_, true);
  if (leads_group_ && is_child) group_done_ = send_by_pid(-leader_) == Denial::none;
  bool got_it = group_done_;
  if (!group_done_ || number_ == SIGKILL || ::getpgid(leader_) != leader_) {
    if (!is_child && !leader_fd_) return false;  // the reading of /proc finds it
    const Denial denial = is_child ? send_by_pid(leader_) : send_by_pidfd(leader_fd_);
    note({leader_, kUnknownStart}, denial, pass);
    got_it = denial == Denial::none;
  }
  done_.push_back(leader_);
  return got_it;
}

/// For a process whose parent got the signal just now, or is the root of the tree.
void ProcessTree::signal_early(const ProcessEntry& process, const Fd& pidfd, bool below_spared,
                               Pass& pass) {
  const auto parent = std::lower_bound(early_.begin(), early_.end(), Identity(process.parent, -1));
  const bool below_early =
      parent != early_.end() && parent->first == process.parent && parent->second <= process.start;
  const bool below_root = process.parent == (below_spared ? spared_ : ::getpid());
  if ((!below_early && !below_root) || process.pid == spared_) return;
  const Identity identity(process.pid, process.start);
  if (is_excluded(process.pid, process.group) || holds(strangers_, identity)) return;
  if (is_spared(process)) return;
  insert(early_, identity);
  if (holds(done_, process.pid)) return;
  note_reached(process);
  signal_one(process, &pidfd, pass);
  insert(done_, process.pid);
}

void ProcessTree::signal_found(Pass& pass) {
  std::vector<pid_t> done = done_;
  for (const ProcessEntry& process : found_) {
    if (holds(done_, process.pid) || is_spared(process)) continue;
    done.push_back(process.pid);
    note_reached(process);
    signal_one(process, nullptr, pass);
  }
  std::sort(done.begin(), done.end());
  done_ = std::move(done);
}

void ProcessTree::signal_one(const ProcessEntry& process, const Fd* pidfd, Pass& pass) {
  const Identity identity(process.pid, process.start);
  const bool has_it =
      number_ == SIGKILL ? holds(killed_before_, identity) : has_it_by_group(process);
  note(identity, has_it ? Denial::none : send(process, pidfd), pass);
}

bool ProcessTree::has_it_by_group(const ProcessEntry& process) const {
  return (group_done_ && process.group == leader_) ||
         (except_group_ >= 0 && process.group == except_group_);
}

/// Signals processes that the reading of /proc did not find: /proc may hide them, and a process
/// that forks a copy and exits keeps changing its PID. But each copy becomes our child when its
/// parent is gone, and the list of our children is one small file. A KILL hunts such processes for
/// a while. Returns whether it caught any.
bool ProcessTree::signal_children(Pass& pass) {
  const auto begin = steady_clock::now();
  auto last_caught = begin;
  std::vector<pid_t> children;
  for (auto now = begin; now < last_caught + milliseconds(2) && now < begin + milliseconds(20);
       now = steady_clock::now()) {
    table_.read_own_children(children);
    for (const pid_t pid : children) {
      if (holds(done_, pid) || is_stranger(pid)) continue;
      const auto entry = spares_ ? table_.find(pid) : std::nullopt;
      if (entry && is_spared(*entry)) continue;
      insert(done_, pid);
      if (except_group_ >= 0 && ::getpgid(pid) == except_group_) continue;
      note({pid, kUnknownStart}, send_by_pid(pid), pass);
      last_caught = now;
    }
    if (number_ != SIGKILL || !has_children()) return false;
  }
  return last_caught != begin;
}

bool ProcessTree::is_stranger(pid_t child) const {
  const auto known = std::lower_bound(strangers_.begin(), strangers_.end(), Identity(child, -1));
  return child == spared_ || (known != strangers_.end() && known->first == child) ||
         is_excluded(child, ::getpgid(child));
}

bool ProcessTree::is_excluded(pid_t pid, pid_t group) const {
  return pid == excluded_ || (excluded_group_ > 0 && group == excluded_group_);
}

/// `pidfd`: opened before the process was read; if it is null, this reads the process again.
/// Without pidfds, the signal follows so soon that the kernel cannot have used all other PIDs.
ProcessTree::Denial ProcessTree::send(const ProcessEntry& process, const Fd* pidfd) const {
  if (process.parent == ::getpid()) return send_by_pid(process.pid);
  Fd opened;
  if (pidfd == nullptr) {
    opened = open_pidfd(process.pid);
    const std::optional<ProcessEntry> now = table_.find(process.pid);
    if (!now || now->start != process.start) return Denial::gone;
    pidfd = &opened;
  }
  if (*pidfd) {
    const Denial denial = send_by_pidfd(*pidfd);
    // Any other error may come from a filter that does not know pidfds.
    if (denial == Denial::none || errno == ESRCH) return denial;
  }
  return send_by_pid(process.pid);
}

ProcessTree::Denial ProcessTree::send_by_pid(pid_t pid) const {
  const Denial denial = denial_of(::kill(pid, number_) == 0);
  if (denial == Denial::none && then_ != 0) ::kill(pid, then_);
  return denial;
}

ProcessTree::Denial ProcessTree::send_by_pidfd(const Fd& pidfd) const {
  const Denial denial = denial_of(send_signal(pidfd, number_));
  if (denial == Denial::none && then_ != 0) send_signal(pidfd, then_);
  return denial;
}

void ProcessTree::note(const Identity& process, Denial denial, Pass& pass) {
  if (denial == Denial::not_permitted) pass.not_permitted.push_back(process.first);
  if (denial != Denial::none || number_ != SIGKILL) return;
  if (!holds(killed_before_, process)) pass.found_new = true;
  killed_.push_back(process);
}

std::size_t ProcessTree::count() {
  static_cast<void>(signal(0));
  return found_.size();
}

/// A reading of /proc may miss a process that forks and exits in a loop. But if the tree is not
/// empty, one of its processes is our child, and the kernel knows whether we have any.
bool ProcessTree::empty() {
  if (!has_children()) return true;
  if (strangers_.empty() && spared_ < 0 && excluded_group_ < 0 && excluded_ < 0) return false;
  const ProcessTable::Loan loan(table_);
  find();
  if (!found_.empty()) return false;
  std::vector<pid_t> children;
  table_.read_own_children(children);
  return std::ranges::all_of(children, [this](pid_t child) { return is_stranger(child); });
}

}  // namespace redlock::os
