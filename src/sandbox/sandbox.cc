// SPDX-License-Identifier: MIT
//
// Three kinds of processes. Nothing stays behind, whichever of them is killed:
//
//   redlock sandbox ─┬─ COMMAND            gets TERM by PR_SET_PDEATHSIG when we are gone
//                    └─ keeper ─┬─ server 1   killed by PR_SET_PDEATHSIG when the keeper is gone
//                               └─ server 2 …
//
// The keeper (sandbox_keeper.h) has a session of its own, so that neither Ctrl-C nor a hang-up
// kills the servers of a shell that goes on. It notices our death by the end of a pipe.
#include "sandbox/sandbox.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "error.h"
#include "os/child.h"
#include "os/fail.h"
#include "os/fd.h"
#include "os/pipe.h"
#include "os/random.h"
#include "sandbox/sandbox_keeper.h"

namespace redlock::sandbox {
namespace {

/// Sets the signals of this process while the command runs, and restores them afterwards. INT and
/// QUIT from the terminal go to the whole foreground group, and only the command reacts. TERM and
/// HUP are blocked: this process fetches them and passes them on.
class SignalsAside {
 public:
  SignalsAside() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &old_int_);
    sigaction(SIGQUIT, &ignore, &old_quit_);
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;  // some parents ignore it, and then there is no status to fetch
    sigaction(SIGCHLD, &standard, &old_chld_);

    sigemptyset(&awaited_);
    sigaddset(&awaited_, SIGCHLD);
    for (int signal : {SIGTERM, SIGHUP}) {
      struct sigaction inherited {};
      sigaction(signal, nullptr, &inherited);
      if (inherited.sa_handler != SIG_IGN) sigaddset(&awaited_, signal);  // nohup stays nohup
    }
    sigprocmask(SIG_BLOCK, &awaited_, &old_mask_);
  }
  ~SignalsAside() { restore(); }
  SignalsAside(const SignalsAside&) = delete;
  SignalsAside& operator=(const SignalsAside&) = delete;

  /// Restores the state at the start. The command's process calls it too, before exec.
  void restore() const {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGQUIT, &old_quit_, nullptr);
    sigaction(SIGCHLD, &old_chld_, nullptr);
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
  }

  [[nodiscard]] int wait() const {
    int signal = -1;
    while (signal < 0) signal = sigwaitinfo(&awaited_, nullptr);  // EINTR: stopped and continued
    return signal;
  }

 private:
  struct sigaction old_int_ {};
  struct sigaction old_quit_ {};
  struct sigaction old_chld_ {};
  sigset_t old_mask_{};
  sigset_t awaited_{};
};

std::vector<std::string> users_shell() {
  const char* shell = std::getenv("SHELL");
  return {shell != nullptr && *shell != '\0' ? shell : "/bin/sh"};
}

std::string join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) {
    if (!joined.empty()) joined += ' ';
    joined += word;
  }
  return joined;
}

/// Sets the command's environment: the servers, and no passwords of other servers.
void set_environment(const std::vector<std::string>& uris, const std::string& password) {
  setenv("REDLOCK_SERVERS", join(uris).c_str(), 1);
  setenv("REDLOCK_RESTART_GRACE", "0", 1);   // the servers are new, and have forgotten nothing
  setenv("REDLOCK_CONFIG", "/dev/null", 1);  // the configuration file is for other servers
  for (const char* name : {"REDLOCK_PASSWORD", "REDLOCK_PASSWORD_FILE", "REDISCLI_AUTH"}) {
    unsetenv(name);
  }
  if (!password.empty()) setenv("REDISCLI_AUTH", password.c_str(), 1);  // for redis-cli
}

/// Turns this child into the command. Writes errno to `failure` if exec fails.
[[noreturn]] void become(const std::vector<std::string>& command, pid_t parent, int failure) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(static_cast<int>(ExitStatus::os_error));  // it died before prctl
  execvp(command.front().c_str(), os::pointers(command).data());
  const int error = errno;
  if (error == ENOEXEC) execv("/bin/sh", os::pointers(os::for_shell(command)).data());
  // If the write fails, the exit status still reports the failure.
  if (write(failure, &error, sizeof error) < 0) _exit(static_cast<int>(ExitStatus::not_found));
  _exit(static_cast<int>(ExitStatus::cannot_execute));
}

/// Returns when exec has succeeded. Throws Error (126, 127) if it has failed.
void expect_exec(pid_t pid, int failure, const std::string& program) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(failure, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof error)) return;
  waitpid(pid, nullptr, 0);
  const bool absent = error == ENOENT || error == ENOTDIR;
  throw Error(absent ? ExitStatus::not_found : ExitStatus::cannot_execute,
              "cannot run " + program + ": " + std::strerror(error));
}

Exit wait_for(pid_t pid, const SignalsAside& signals) {
  for (;;) {
    const int signal = signals.wait();
    if (signal != SIGCHLD) {
      kill(pid, signal);  // not reaped yet, so the pid is still its own
      continue;
    }
    int status = 0;
    const pid_t reaped = waitpid(pid, &status, WNOHANG);
    if (reaped == pid) return Exit::of_process(status);
  }
}

/// The command stays in our process group, so that it can use the terminal if we can.
Exit run_command(const std::vector<std::string>& command, const std::vector<std::string>& uris,
                 const std::string& password) {
  os::Pipe failure = os::make_pipe();
  const SignalsAside signals;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) os::fail("cannot fork");
  if (pid == 0) {
    signals.restore();
    set_environment(uris, password);
    become(command, parent, failure.write.get());
  }
  failure.write.reset();
  expect_exec(pid, failure.read.get(), command.front());
  return wait_for(pid, signals);
}

std::string described(const cli::Sandbox& wanted) {
  switch (wanted.kind) {
    case cli::Sandbox::Kind::cluster:
      return "a private Redis Cluster (3 primaries, 3 replicas)";
    case cli::Sandbox::Kind::sentinel:
      return "a private primary with 2 replicas and 3 Sentinels";
    case cli::Sandbox::Kind::plain:
      break;
  }
  return std::to_string(wanted.servers) + " private server" + (wanted.servers == 1 ? "" : "s");
}

void announce(const cli::Sandbox& wanted, const std::string& directory,
              const std::string& program) {
  if (isatty(STDERR_FILENO) == 0) return;
  const std::string line =
      "redlock: " + described(wanted) + " in " + directory +
      ", named by REDLOCK_SERVERS; gone when " +
      (wanted.command.empty() ? "you leave this shell (exit or Ctrl-D)" : program + " ends") + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace

Exit run_sandbox(const cli::Sandbox& wanted) {
  const std::vector<std::string> command = wanted.command.empty() ? users_shell() : wanted.command;
  // Nobody else reaches a Unix socket in the directory; every user of this host reaches a port.
  const bool on_ports = wanted.kind != cli::Sandbox::Kind::plain;
  const std::string password = on_ports ? os::random_hex(20) : "";

  const SandboxKeeper keeper(wanted, password);
  announce(wanted, keeper.directory(), command.front());
  return run_command(command, keeper.uris(), password);
}

}  // namespace redlock::sandbox
