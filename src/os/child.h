// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "os/signals.h"

namespace redlock::os {

struct Spawned {
  pid_t pid = -1;           ///< -1: the command could not be started
  int error = 0;            ///< then: errno of vfork(2) or execvp(3)
  bool no_process = false;  ///< vfork failed: the system refused a process
};

/// Where a child goes in job control (credentials(7)), and what binds it to us.
struct Placement {
  pid_t group = 0;       ///< the process group to join; 0: a new one
  int terminal = -1;     ///< descriptor of a terminal whose foreground its group becomes; -1: none
  int death_signal = 0;  ///< what the child gets when this process dies; 0: nothing
};

/// Starts argv[0] (looked up in PATH, run by /bin/sh if it is a script without "#!", as execvp(3)
/// does) with our own descriptors, directory and limits, with the signal mask and dispositions that
/// redlock had at its own start, and with exactly `environment` ("NAME=value"). Returns once the
/// command runs or its start has failed. To give it the terminal, SIGTTOU must be blocked.
Spawned spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
              const SignalSource& signals, Placement placement);

/// The words as exec(3) takes them, with a null pointer at the end; valid as long as `words`.
std::vector<char*> pointers(const std::vector<std::string>& words);

/// The command that runs argv[0], a script without "#!", with /bin/sh. For use after ENOEXEC:
/// musl's execvp(3), unlike glibc's, does not start the shell.
std::vector<std::string> for_shell(const std::vector<std::string>& argv);

/// This process's environment without the variables named in `dropped`, plus `added`.
std::vector<std::string> environment_with(const std::vector<std::string>& dropped,
                                          const std::vector<std::string>& added);

}  // namespace redlock::os
