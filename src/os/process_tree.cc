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
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "os/fd.h"

namespace redlock::os {

namespace {

struct Process {
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

std::vector<Process> living_processes() {
  std::vector<Process> processes;
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
    for (const Process& process : living_processes()) {
      if (process.parent == ::getpid()) not_ours_.push_back(process.pid);
    }
  }
}

std::vector<pid_t> ProcessTree::descendants() const {
  std::multimap<pid_t, pid_t> children;
  for (const Process& process : living_processes()) {
    children.emplace(process.parent, process.pid);
  }
  std::vector<pid_t> found;
  std::vector<pid_t> to_visit = {::getpid()};
  while (!to_visit.empty()) {
    const pid_t parent = to_visit.back();
    to_visit.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      if (std::find(not_ours_.begin(), not_ours_.end(), child->second) != not_ours_.end()) continue;
      found.push_back(child->second);
      to_visit.push_back(child->second);
    }
  }
  return found;
}

void ProcessTree::signal(int number) const {
  for (const pid_t pid : descendants()) {
    // A pidfd, and a second look through it, because a pid may be used again at any time except
    // while its process or zombie exists (glibc 2.36 has the calls, but not in a header for C++).
    const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process) continue;
    const auto parent = living_parent(pid);
    if (!parent) continue;
    ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
  }
}

bool ProcessTree::empty() const {
  return descendants().empty();
}

}  // namespace redlock::os
