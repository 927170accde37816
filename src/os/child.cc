// SPDX-License-Identifier: MIT
#include "os/child.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace redlock::os {

namespace {

// musl's execvp(3) looks here if there is no PATH.
constexpr const char* kPathOfMusl = "/usr/local/bin:/bin:/usr/bin";

/// vfork(2) and not fork: the parent sleeps until the exec, so the kernel copies no page tables,
/// and a failed exec can leave its errno in the shared memory. The child borrows the parent's stack
/// and may do only what is safe there; that is why this is a function of its own.
[[gnu::noinline]] pid_t vfork_exec(char* const* argv, char* const* environment,
                                   const SignalSource& signals, Placement placement,
                                   volatile int& error) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::vfork();
  if (pid != 0) return pid;
  if (placement.death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, placement.death_signal);
    if (::getppid() != parent) ::_exit(127);  // it died before prctl
  }
  ::setpgid(0, placement.group);
  if (placement.terminal >= 0) ::tcsetpgrp(placement.terminal, ::getpgrp());
  if (signals.child_was_ignored()) std::signal(SIGCHLD, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &signals.entry_mask(), nullptr);
  ::execvpe(argv[0], argv, environment);
  error = errno;
  ::_exit(127);
}

Spawned start_child(const std::vector<std::string>& argv,
                    const std::vector<std::string>& environment, const SignalSource& signals,
                    Placement placement) {
  const std::vector<char*> arguments = pointers(argv);
  const std::vector<char*> variables = pointers(environment);
  volatile int error = 0;
  const pid_t pid = vfork_exec(arguments.data(), variables.data(), signals, placement, error);
  if (pid < 0) return {.error = errno, .no_process = true};
  if (error != 0) {
    ::waitpid(pid, nullptr, 0);
    return {.error = error};
  }
  return {.pid = pid};
}

/// The file that execvp(3) found for this command: it passes over directories.
std::string file_of(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  const char* const path = std::getenv("PATH");
  for (std::string_view rest(path != nullptr ? path : kPathOfMusl);;) {
    const std::size_t end = rest.find(':');
    const std::string_view folder = rest.substr(0, end);
    std::string file = folder.empty() ? command : std::string(folder) + '/' + command;
    struct stat about {};
    const bool regular = ::stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode);
    if ((regular && ::access(file.c_str(), X_OK) == 0) || end == std::string_view::npos) {
      return file;
    }
    rest.remove_prefix(end + 1);
  }
}

}  // namespace

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> for_shell(const std::vector<std::string>& argv) {
  std::vector<std::string> script{"/bin/sh", file_of(argv.front())};
  script.insert(script.end(), argv.begin() + 1, argv.end());
  return script;
}

Spawned spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
              const SignalSource& signals, Placement placement) {
  const Spawned spawned = start_child(argv, environment, signals, placement);
  if (spawned.error != ENOEXEC) return spawned;
  return start_child(for_shell(argv), environment, signals, placement);
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

}  // namespace redlock::os
