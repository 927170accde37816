// SPDX-License-Identifier: MIT
#pragma once

#include <sys/wait.h>

#include <stdexcept>
#include <string>

namespace redlock {

/// Every exit status of redlock's own. A job's own status passes through unchanged, and a job that
/// died of signal n gives 128 + n, as in a shell. The numbers 64 to 78 are those of sysexits.h.
enum class ExitStatus : int {
  ok = 0,
  conflict = 1,          ///< somebody else holds the lock (or the number given by -E)
  usage = 64,            ///< the command line is wrong
  unavailable = 69,      ///< fewer than a quorum of servers could be used
  os_error = 71,         ///< the operating system refused: fork, memory, descriptors
  config = 78,           ///< configuration is wrong, or no servers are configured
  lost = 80,             ///< the lock was lost while the job ran, or was not ours at release
  max_runtime = 124,     ///< --max-runtime passed, as timeout(1)
  cannot_execute = 126,  ///< the command was found but cannot be executed
  not_found = 127,       ///< the command was not found
};

/// How redlock ends. If a signal ended the job or the wait, redlock ends by the same signal: a
/// shell's loop or script goes on when Ctrl-C makes a command *exit* with 130.
struct Exit {
  int status;  ///< 128 + n where signal n is the reason, as in a shell
  int signal;  ///< redlock ends by this signal; 0: by none

  // NOLINTBEGIN(google-explicit-constructor): a status is a way to end.
  constexpr Exit(int number, int ended_by = 0) : status(number), signal(ended_by) {}
  constexpr Exit(ExitStatus own) : Exit(static_cast<int>(own)) {}
  // NOLINTEND(google-explicit-constructor)

  static constexpr Exit by_signal(int number) { return {128 + number, number}; }

  /// As a process with this wait status (waitpid(2)) ended.
  static Exit of_process(int wait_status) {
    return WIFSIGNALED(wait_status) ? by_signal(WTERMSIG(wait_status)) : WEXITSTATUS(wait_status);
  }
};

/// Ends the program: wrong usage or configuration, or the machine fails. Only main catches it,
/// prints `redlock: <message>` and exits with the status. What a distributed system does every day
/// (a server refused, a lock lost) is a value, never an Error.
class Error : public std::runtime_error {
 public:
  Error(ExitStatus status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  [[nodiscard]] ExitStatus status() const { return status_; }

 private:
  ExitStatus status_;
};

}  // namespace redlock
