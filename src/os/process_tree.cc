// SPDX-License-Identifier: MIT
#include "os/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "os/fd.h"

namespace redlock::os {

namespace {

struct Living {
  pid_t pid;
  pid_t parent;
};

/// Parent of a living process from /proc/PID/stat (proc(5)); none if it is gone or a zombie.
std::optional<pid_t> living_parent(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> buffer{};
  if (!file) return std::nullopt;
  const ssize_t length = ::read(file.get(), buffer.data(), buffer.size());
  if (length <= 0) return std::nullopt;
  // The name is in parentheses and may hold anything, parentheses too: what counts is behind the
  // last.
  const std::string_view text(buffer.data(), static_cast<std::size_t>(length));
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || text.size() < name_end + 5) return std::nullopt;
  const char state = text[name_end + 2];
  if (state == 'Z' || state == 'X') return std::nullopt;
  const std::string_view rest = text.substr(name_end + 4);
  pid_t parent = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), parent);
  return parent;
}

std::vector<Living> living_processes() {
  std::vector<Living> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  if (!directory) return processes;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (const auto parent = living_parent(pid)) processes.push_back({pid, *parent});
  }
  return processes;
}

}  // namespace

ProcessTree::ProcessTree() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // Nearly always there is no child yet, and one system call says so.
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
    for (const Living& process : living_processes()) {
      if (process.parent == ::getpid()) not_ours_.push_back(process.pid);
    }
  }
}

std::vector<pid_t> ProcessTree::descendants() const {
  std::multimap<pid_t, pid_t> children;
  for (const Living& process : living_processes()) {
    children.emplace(process.parent, process.pid);
  }
  std::vector<pid_t> found;
  std::vector<pid_t> to_visit = {::getpid()};
  while (!to_visit.empty()) {
    const pid_t parent = to_visit.back();
    to_visit.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      if (is_not_ours(child->second)) continue;
      found.push_back(child->second);
      to_visit.push_back(child->second);
    }
  }
  return found;
}

void ProcessTree::signal(int number) const {
  signal_once(number);
  if (number == SIGKILL && !empty()) hunt();
}

/// A process that forks a copy and exits has another pid whenever a walk through /proc is over. But
/// each of its copies becomes our child as soon as its parent is gone, and the list of our children
/// is one small file (proc(5); Linux may have been built without it). A child's pid is its own until
/// we reap it.
void ProcessTree::hunt() const {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const std::string path = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  const auto begin = steady_clock::now();
  auto last_found = begin;
  std::set<pid_t> found;
  for (auto now = begin; now < last_found + milliseconds(2) && now < begin + milliseconds(20);
       now = steady_clock::now()) {
    std::ifstream file(path);
    for (pid_t pid = 0; file >> pid;) {
      if (pid == spared_ || !found.insert(pid).second || is_not_ours(pid)) continue;
      ::kill(pid, SIGKILL);
      last_found = now;
    }
  }
  signal_once(SIGKILL);
}

bool ProcessTree::is_not_ours(pid_t pid) const {
  return std::find(not_ours_.begin(), not_ours_.end(), pid) != not_ours_.end();
}

void ProcessTree::signal_once(int number) const {
  for (const pid_t pid : descendants()) {
    if (pid == spared_) continue;
    // A pidfd, and a second look through it, because a pid may be used again at any time except
    // while its process or zombie exists (glibc 2.36 has the calls, but not in a header for C++).
    const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process) continue;
    const auto parent = living_parent(pid);
    if (!parent) continue;
    ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
  }
}

/// A walk through /proc may miss one that forks and exits in a loop. But whatever is left of the
/// tree, one of it is our child, and the kernel knows whether we have any.
bool ProcessTree::empty() const {
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return true;
  if (not_ours_.empty() && spared_ < 0) return false;
  const std::vector<pid_t> found = descendants();
  return std::all_of(found.begin(), found.end(), [this](pid_t pid) { return pid == spared_; });
}

}  // namespace redlock::os
