// SPDX-License-Identifier: MIT
#include "os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "error.h"
#include "os/clock.h"
#include "os/printable.h"

namespace redlock::os {

namespace {

/// The number of bytes from argv[0] on that the kernel shows as the arguments. These are not all of
/// the arguments if `ld.so PROGRAM` started this program.
std::size_t size_of_arguments() {
  const Fd file(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> piece{};
  std::size_t size = 0;
  if (!file) return 0;
  for (ssize_t length = 0; (length = ::read(file.get(), piece.data(), piece.size())) > 0;) {
    for (ssize_t i = 0; i < length; ++i, ++size) {
      if (program_invocation_name[size] != piece[static_cast<std::size_t>(i)]) return size;
    }
  }
  return size;
}

// Between two WATCHDOG=1, in microseconds, whatever the manager asks for.
constexpr std::uint64_t kShortestPause = 1000;
constexpr std::uint64_t kLongestPause = 86'400'000'000;

/// The files that execvp(3) tries for a command, in this order.
std::vector<std::string> candidates(const std::string& command) {
  if (command.empty() || command.find('/') != std::string::npos) return {command};
  const char* const path = std::getenv("PATH");
  std::string_view rest(path != nullptr ? path : "/usr/local/bin:/bin:/usr/bin");
  for (std::vector<std::string> files;;) {
    const std::size_t end = rest.find(':');
    const std::string_view folder = rest.substr(0, end);
    files.push_back(folder.empty() ? command : std::string(folder) + '/' + command);
    if (end == std::string_view::npos) return files;
    rest.remove_prefix(end + 1);
  }
}

/// The first line of a file, as far as the kernel looks for an interpreter's name. Empty if we may
/// not read the file.
std::string first_line(const std::string& file) {
  std::array<char, 256> text{};
  const Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const ssize_t length = opened ? ::read(opened.get(), text.data(), text.size()) : 0;
  const std::string_view all(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return std::string(all.substr(0, all.find('\n')));
}

/// execvp(3) without its shell for a file that the kernel does not know. Returns the reason.
int exec_first(char* const* files, char* const* argv, char* const* environment) {
  bool forbidden = false;
  for (; *files != nullptr; ++files) {
    ::execve(*files, argv, environment);
    forbidden = forbidden || errno == EACCES;
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) return errno;
  }
  return forbidden ? EACCES : ENOENT;
}

/// With vfork(2) the kernel copies no page tables, and a failed exec can leave its errno in the
/// shared memory. The child borrows the parent's stack, so this is a function of its own.
[[gnu::noinline]] pid_t vfork_exec(char* const* files, char* const* argv, char* const* environment,
                                   const SignalSource& signals, Placement placement,
                                   volatile int& error) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::vfork();
  if (pid != 0) return pid;
  if (placement.death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, placement.death_signal);
    if (::getppid() != parent) ::_exit(127);  // it died before prctl
  }
  if (placement.own_group) ::setpgid(0, 0);
  if (placement.terminal >= 0) ::tcsetpgrp(placement.terminal, ::getpgrp());
  if (signals.child_was_ignored()) std::signal(SIGCHLD, SIG_IGN);
  ::setrlimit(RLIMIT_CORE, &signals.entry_core_limit());
  ::sigprocmask(SIG_SETMASK, &signals.entry_mask(), nullptr);
  error = exec_first(files, argv, environment);
  ::_exit(127);
}

/// The words as exec(3) takes them, with a null pointer at the end; valid as long as `words`.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

Spawned start_child(const std::vector<std::string>& argv,
                    const std::vector<std::string>& environment, const SignalSource& signals,
                    Placement placement) {
  const std::vector<std::string> files = candidates(argv.front());
  const std::vector<char*> paths = pointers(files);
  const std::vector<char*> arguments = pointers(argv);
  const std::vector<char*> variables = pointers(environment);
  volatile int error = 0;
  const pid_t pid =
      vfork_exec(paths.data(), arguments.data(), variables.data(), signals, placement, error);
  if (pid < 0) return {.error = errno, .no_process = true};
  if (error != 0) {
    ::waitpid(pid, nullptr, 0);
    return {.error = error};
  }
  return {.pid = pid};
}

/// The command that runs argv[0], a script without "#!", with /bin/sh.
std::vector<std::string> for_shell(const std::vector<std::string>& argv) {
  std::vector<std::string> script{"/bin/sh", file_of(argv.front())};
  script.insert(script.end(), argv.begin() + 1, argv.end());
  return script;
}

[[noreturn]] void fail_to_read(const std::string& why) {
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

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool started_by_same_program() {
  const std::string parent = "/proc/" + std::to_string(::getppid());
  struct stat process {};
  struct stat program {};
  struct stat ours {};
  return ::stat(parent.c_str(), &process) == 0 && process.st_uid == ::geteuid() &&
         ::stat((parent + "/exe").c_str(), &program) == 0 && ::stat("/proc/self/exe", &ours) == 0 &&
         program.st_dev == ours.st_dev && program.st_ino == ours.st_ino;
}

void rename_process(const char* name, const std::string& title) {
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
  // The last byte stays 0: otherwise the kernel would read on after the end (proc(5)).
  const std::size_t size = size_of_arguments();
  if (size == 0) return;
  char* const arguments = program_invocation_name;
  std::memset(arguments, 0, size);
  std::memcpy(arguments, title.data(), std::min(title.size(), size - 1));
}

// glibc 2.36 has the calls for pidfds, but no C++ header declares them.

Fd open_pidfd(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool has_ended(const Fd& pidfd) {
  pollfd death{pidfd.get(), POLLIN, 0};
  return ::poll(&death, 1, 0) > 0;
}

bool send_signal(const Fd& pidfd, int number) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0) == 0;
}

Fd find_process(pid_t pid) {
  Fd pidfd = open_pidfd(pid);
  if (!pidfd && errno != ESRCH && errno != EINVAL && errno != ENOENT) fail("pidfd_open");
  if (has_ended(pidfd)) pidfd.reset();
  return pidfd;
}

std::string file_of(const std::string& command) {
  const std::vector<std::string> files = candidates(command);
  const auto found = std::ranges::find_if(files, [](const std::string& file) {
    struct stat about {};
    return ::stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
           ::access(file.c_str(), X_OK) == 0;
  });
  return found == files.end() ? files.back() : *found;
}

std::string why_not_run(const std::string& command, int error) {
  std::string reason = std::strerror(error);
  const std::string file = file_of(command);
  const bool of_content = error == ENOENT || error == EACCES || error == ENOEXEC;
  if (!of_content || ::access(file.c_str(), X_OK) != 0) return reason;
  const std::string line = first_line(file);
  if (line.starts_with("#!")) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t", 2), line.size());
    const std::string interpreter = line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
    const bool crlf = line.find('\r') != std::string::npos;
    return "the interpreter in its first line, " + printable(interpreter) +
           (crlf ? ", is followed by a carriage return (CR LF, as on Windows); convert the file: "
                   "sed -i 's/\\r$//' " +
                       printable(file)
                 : ": " + reason);
  }
  if (line.find('\0') == std::string::npos) return reason;
  return error == ENOEXEC
             ? reason + ": it is a program for another kind of machine"
             : reason +
                   ": the file exists, but the loader (ld.so) that it needs does not; is it a "
                   "program for another system?";
}

Spawned spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
              const SignalSource& signals, Placement placement) {
  const Spawned spawned = start_child(argv, environment, signals, placement);
  if (spawned.error != ENOEXEC) return spawned;
  const bool binary = first_line(file_of(argv.front())).find('\0') != std::string::npos;
  return binary ? spawned : start_child(for_shell(argv), environment, signals, placement);
}

std::vector<std::string> environment_with(const std::vector<std::string>& dropped,
                                          const std::vector<std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const bool drop = std::any_of(dropped.begin(), dropped.end(), [&](const std::string& name) {
      return variable.starts_with(name) && variable.substr(name.size()).starts_with('=');
    });
    if (!drop) result.emplace_back(variable);
  }
  result.insert(result.end(), added.begin(), added.end());
  return result;
}

ServiceManager::ServiceManager() {
  const std::string_view name = variable(kVariable);
  const bool valid = name.size() > 1 && (name[0] == '/' || name[0] == '@');
  if (!valid || name.size() > sizeof(sockaddr_un::sun_path)) return;
  address_ = name;
  if (name[0] == '@') address_[0] = '\0';
  const std::uint64_t time = whole_number<std::uint64_t>(variable(kWatchdogTime)).value_or(0);
  const bool ours = std::getenv(kWatchdogProcess) == nullptr ||
                    whole_number<pid_t>(variable(kWatchdogProcess)) == ::getpid();
  if (time == 0 || !ours) return;
  watchdog_pause_ = std::chrono::microseconds(std::clamp(time / 2, kShortestPause, kLongestPause));
  watchdog_at_ = boot_now() + watchdog_pause_;
}

void ServiceManager::feed_watchdog(lock::Instant now) noexcept {
  if (now < watchdog_at_) return;
  watchdog_at_ = now + watchdog_pause_;
  send("WATCHDOG=1", MSG_DONTWAIT);
}

void ServiceManager::send(std::string_view state, int flags) const noexcept {
  if (!listens()) return;
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  const timeval limit{.tv_sec = 0, .tv_usec = 100'000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  static_cast<void>(::sendto(socket.get(), state.data(), state.size(), flags | MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&to), length));
}

ProcessTable::ProcessTable() : proc_(open_proc()) {
  std::array<char, 16> self{};
  if (::readlinkat(::dirfd(proc_.get()), "self", self.data(), self.size() - 1) < 0) {
    fail_to_read("/proc is not mounted");
  }
  if (std::strtol(self.data(), nullptr, 10) != ::getpid()) {
    fail_to_read("/proc belongs to another PID namespace (unshare: add --mount-proc)");
  }
  if (!fill_reserve()) fail_to_read(std::string("cannot keep /proc open: ") + std::strerror(errno));
}

OpenDirectory ProcessTable::open_proc() {
  OpenDirectory opened(::opendir("/proc"));
  if (!opened) fail_to_read(std::string("cannot open /proc: ") + std::strerror(errno));
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
    if (const auto entry = find(pid)) {
      living.push_back(*entry);
      if (visit) visit(*entry, pidfd);
    }
  }
}

std::optional<ProcessEntry> ProcessTable::find(pid_t pid) const {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "%d/stat", pid);
  const Fd file = open(path.data());
  std::array<char, 512> text{};
  if (!file || ::read(file.get(), text.data(), text.size() - 1) <= 0) return std::nullopt;
  return parse_stat(pid, text.data());
}

/// The last number in /proc/loadavg is that PID (proc(5)).
BirthMark ProcessTable::now() const {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  const long per_second = ::sysconf(_SC_CLK_TCK);
  const Fd file = open("loadavg");
  std::array<char, 128> text{};
  const bool read = file && ::read(file.get(), text.data(), text.size() - 1) > 0;
  const char* const last = read ? std::strrchr(text.data(), ' ') : nullptr;
  return {.tick = time.tv_sec * per_second + time.tv_nsec / (1'000'000'000 / per_second),
          .last = last == nullptr ? 0 : static_cast<pid_t>(std::strtol(last, nullptr, 10))};
}

/// A process gets its PID before the time of its start, so the tick after the mark's may still be
/// that of a PID before it. After the highest PID the kernel goes on with the lowest free one.
bool ProcessEntry::younger_than(const BirthMark& mark) const {
  if (mark.last == 0 || start < mark.tick || start > mark.tick + 1) return start > mark.tick;
  constexpr pid_t kWrapped = 16384;
  const pid_t ahead = pid - mark.last;
  return ahead < -kWrapped || (ahead > 0 && ahead < kWrapped);
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
