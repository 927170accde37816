// SPDX-License-Identifier: MIT
#include "os/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace redlock::os {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

/// vfork(2) and not fork: the parent sleeps until the exec, so the kernel copies no page tables,
/// and a failed exec can leave its errno in the shared memory. The child borrows the parent's stack
/// and may do only what is safe there; that is why this is a function of its own.
[[gnu::noinline]] pid_t vfork_exec(char* const* argv, char* const* environment,
                                   const SignalSource& signals, Placement placement,
                                   volatile int& error) {
  const pid_t pid = ::vfork();
  if (pid != 0) return pid;
  ::setpgid(0, placement.group);
  if (placement.terminal >= 0) ::tcsetpgrp(placement.terminal, ::getpgrp());
  if (signals.child_was_ignored()) std::signal(SIGCHLD, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &signals.entry_mask(), nullptr);
  ::execvpe(argv[0], argv, environment);
  error = errno;
  ::_exit(127);
}

}  // namespace

Spawned spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
              const SignalSource& signals, Placement placement) {
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
