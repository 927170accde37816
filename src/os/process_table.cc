// SPDX-License-Identifier: MIT
#include "os/process_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "error.h"
#include "os/process.h"

namespace redlock::os {

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ExitStatus::os_error,
              why + "; redlock needs it to find and stop the processes of a job");
}

/// Nothing for a dead process. One whose main thread has ended is a zombie with other threads.
std::optional<ProcessEntry> parse_stat(pid_t pid, const char* text) {
  // The name is in parentheses and may contain anything, even parentheses: the last one ends it.
  const char* const name_end = std::strrchr(text, ')');
  if (name_end == nullptr || std::strlen(name_end) < 3) return std::nullopt;
  const char state = name_end[2];
  enum : std::size_t { parent, group, threads = 16, start = 18, count };
  std::array<long long, count> numbers{};
  const char* rest = name_end + 3;
  for (long long& number : numbers) {
    char* end = nullptr;
    number = std::strtoll(rest, &end, 10);
    rest = end;
  }
  if (state == 'X' || (state == 'Z' && numbers[threads] < 2)) return std::nullopt;
  return ProcessEntry{.pid = pid,
                      .parent = static_cast<pid_t>(numbers[parent]),
                      .group = static_cast<pid_t>(numbers[group]),
                      .start = numbers[start]};
}

}  // namespace

ProcessTable::ProcessTable() : proc_(open_proc()) {
  std::array<char, 16> self{};
  if (::readlinkat(::dirfd(proc_.get()), "self", self.data(), self.size() - 1) < 0) {
    refuse("/proc is not mounted");
  }
  if (std::strtol(self.data(), nullptr, 10) != ::getpid()) {
    refuse("/proc belongs to another PID namespace (unshare: add --mount-proc)");
  }
  if (!fill_reserve()) refuse(std::string("cannot keep /proc open: ") + std::strerror(errno));
}

OpenDirectory ProcessTable::open_proc() {
  OpenDirectory opened(::opendir("/proc"));
  if (!opened) refuse(std::string("cannot open /proc: ") + std::strerror(errno));
  return opened;
}

Fd ProcessTable::open(const char* path) const {
  return Fd(::openat(::dirfd(proc_.get()), path, O_RDONLY | O_CLOEXEC));
}

bool ProcessTable::fill_reserve() {
  for (Fd& spare : spare_) {
    if (!spare) spare = Fd(::fcntl(::dirfd(proc_.get()), F_DUPFD_CLOEXEC, 0));
    if (!spare) return false;
  }
  return true;
}

void ProcessTable::read(std::vector<ProcessEntry>& living, const Visit& visit) {
  living.clear();
  ::rewinddir(proc_.get());
  while (const dirent* const listed = ::readdir(proc_.get())) {
    const auto pid = static_cast<pid_t>(std::strtol(listed->d_name, nullptr, 10));
    if (pid == 0) continue;  // no number
    const Fd pidfd = visit ? open_pidfd(pid) : Fd();
    if (const auto entry = look(pid)) {
      living.push_back(*entry);
      if (visit) visit(*entry, pidfd);
    }
  }
}

std::optional<ProcessEntry> ProcessTable::look(pid_t pid) const {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "%d/stat", pid);
  const Fd file = open(path.data());
  std::array<char, 512> text{};
  if (!file || ::read(file.get(), text.data(), text.size() - 1) <= 0) return std::nullopt;
  return parse_stat(pid, text.data());
}

void ProcessTable::read_own_children(std::vector<pid_t>& children) const {
  children.clear();
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "self/task/%d/children", ::getpid());
  const Fd file = open(path.data());
  if (!file) return;
  std::array<char, 4096> piece{};
  pid_t pid = 0;
  for (ssize_t length = 0; (length = ::read(file.get(), piece.data(), piece.size())) > 0;) {
    for (const char c : std::string_view(piece.data(), static_cast<std::size_t>(length))) {
      if (c != ' ') {
        pid = 10 * pid + (c - '0');
      } else {  // after each number, also after the last one
        children.push_back(std::exchange(pid, 0));
      }
    }
  }
}

}  // namespace redlock::os
