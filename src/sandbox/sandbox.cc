// SPDX-License-Identifier: MIT
//
// Three kinds of processes. Nothing stays behind, whichever of them is killed:
//
//   redlock sandbox ─┬─ COMMAND            gets TERM by PR_SET_PDEATHSIG when we are gone
//                    └─ keeper ─┬─ server 1   killed by PR_SET_PDEATHSIG when the keeper is gone
//                               └─ server 2 …
//
// The keeper has a session of its own, so that neither Ctrl-C nor a hang-up kills the servers of a
// shell that goes on. It notices our death by the end of a pipe.
//
// `redlock sandbox` forks the keeper first, and the keeper creates the directory and the servers.
// So killing `redlock sandbox` never leaves one of them behind, and to end the sandbox the parent
// only closes a pipe.
//
// It sends the parent a report of a few lines, ended by end-of-file:
//
//   0                 STATUS
//   DIRECTORY         MESSAGE (to the end)
//   URI
//   URI…
#include "sandbox/sandbox.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "error.h"
#include "os/process.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/random.h"
#include "os/signals.h"
#include "sandbox/sandbox_servers.h"
#include "sandbox/topologies.h"

namespace redlock::sandbox {
namespace {

/// Only the end of its pipe ends the keeper (and KILL; then PR_SET_PDEATHSIG ends the servers).
void ignore_signals() {
  for (const os::KnownSignal& signal : os::known_signals()) {
    if (signal.passed_on || !signal.ends_process) std::signal(signal.number, SIG_IGN);
  }
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) std::signal(signal, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
}

/// If that fails, the parent is dead; the end of the pipe shows that, too.
void tell(os::Fd report, const std::string& text) {
  os::write_all(report.get(), text);
}

void keep(const cli::Sandbox& wanted, const std::string& password, os::Fd lifeline, os::Fd report) {
  try {
    ignore_signals();
    SandboxServers servers(password);
    os::detach();
    const Uris uris = start(servers, wanted, lifeline.get());
    if (!uris) return;
    std::string text = "0\n" + servers.directory() + "\n";
    for (const std::string& uri : *uris) text.append(uri).append("\n");
    tell(std::move(report), text);
    std::string nothing;
    os::read_all(lifeline.get(), nothing);  // returns when the parent is gone
  } catch (const std::exception& error) {
    const auto* const own = dynamic_cast<const Error*>(&error);
    const ExitStatus status = own == nullptr ? ExitStatus::os_error : own->status();
    tell(std::move(report), std::to_string(static_cast<int>(status)) + "\n" + error.what());
  }
}

/// The process that owns a sandbox's servers, as `redlock sandbox` sees it. When this object or the
/// process that made it ends, the keeper kills the servers, removes their directory and ends.
class SandboxKeeper {
 public:
  /// Returns when all servers are ready. `password`: what they ask for; empty: nothing. Throws
  /// Error: 69 if there is no server program or a server does not start, 71 if the system refused
  /// something.
  SandboxKeeper(const cli::Sandbox& wanted, const std::string& password);
  ~SandboxKeeper();
  SandboxKeeper(const SandboxKeeper&) = delete;
  SandboxKeeper& operator=(const SandboxKeeper&) = delete;

  [[nodiscard]] const std::vector<std::string>& uris() const { return uris_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  void learn(const std::string& report);
  void end();

  pid_t pid_ = -1;
  os::Fd lifeline_;  ///< nobody writes to it; its end-of-file tells the keeper to end
  std::string directory_;
  std::vector<std::string> uris_;
};

SandboxKeeper::SandboxKeeper(const cli::Sandbox& wanted, const std::string& password) {
  os::Pipe lifeline = os::make_pipe();
  os::Pipe report = os::make_pipe();
  pid_ = fork();
  if (pid_ < 0) os::fail("cannot fork");
  if (pid_ == 0) {
    lifeline.write.reset();
    report.read.reset();
    keep(wanted, password, std::move(lifeline.read), std::move(report.write));
    _exit(0);
  }
  lifeline_ = std::move(lifeline.write);
  report.write.reset();
  try {
    std::string text;
    os::read_all(report.read.get(), text);
    learn(text);
  } catch (...) {
    end();
    throw;
  }
}

SandboxKeeper::~SandboxKeeper() {
  end();
}

void SandboxKeeper::learn(const std::string& report) {
  if (report.empty()) throw Error(ExitStatus::os_error, "sandbox: its keeper process was killed");
  std::istringstream lines(report);
  std::string line;
  std::getline(lines, line);
  if (line != "0") {
    const int status = static_cast<int>(std::strtol(line.c_str(), nullptr, 10));
    throw Error(static_cast<ExitStatus>(status), report.substr(line.size() + 1));
  }
  std::getline(lines, directory_);
  while (std::getline(lines, line)) uris_.push_back(line);
}

void SandboxKeeper::end() {
  lifeline_.reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  // The keeper has already done this, unless somebody has killed it.
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

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

/// Our environment, with these servers and no passwords of other servers.
std::vector<std::string> environment_for(const std::vector<std::string>& uris,
                                         const std::string& password) {
  std::vector<std::string> added{"REDLOCK_SERVERS=" + join(uris),
                                 // The servers are new, and have forgotten nothing.
                                 "REDLOCK_RESTART_GRACE=0",
                                 // The configuration file is for other servers.
                                 "REDLOCK_CONFIG=/dev/null"};
  if (!password.empty()) added.push_back("REDISCLI_AUTH=" + password);  // for redis-cli
  return os::environment_with({"REDLOCK_SERVERS", "REDLOCK_RESTART_GRACE", "REDLOCK_CONFIG",
                               "REDLOCK_PASSWORD", "REDLOCK_PASSWORD_FILE", "REDISCLI_AUTH"},
                              added);
}

/// INT and QUIT from the terminal go to the whole foreground group, and only the command reacts.
/// Other signals do to this process what they do by default.
void act_on(int signal, pid_t command) {
  if (signal == SIGTERM || signal == SIGHUP) {
    kill(command, signal);  // not reaped yet, so the PID is still its own
  } else if (signal != SIGINT && signal != SIGQUIT && os::ends_process_by_default(signal)) {
    os::end_by(signal);
  }
}

Exit wait_for(pid_t command, os::SignalSource& signals) {
  os::Loop loop;
  std::array<os::Interest, 1> interests{os::Interest{.fd = signals.fd(), .read = true}};
  for (;;) {
    loop.wait(interests, lock::kNever);
    for (const os::ReceivedSignal& received : signals.take()) act_on(received.number, command);
    int status = 0;
    if (waitpid(command, &status, WNOHANG) == command) return Exit::of_process(status);
  }
}

/// The command stays in our process group, so that it can use the terminal if we can.
Exit run_command(const std::vector<std::string>& command,
                 const std::vector<std::string>& environment) {
  os::SignalSource signals;
  const os::Spawned spawned =
      os::spawn(command, environment, signals, {.group = getpgrp(), .death_signal = SIGTERM});
  if (spawned.pid > 0) return wait_for(spawned.pid, signals);
  errno = spawned.error;
  if (spawned.no_process) os::fail("cannot fork");
  const bool absent = errno == ENOENT || errno == ENOTDIR;
  throw Error(absent ? ExitStatus::not_found : ExitStatus::cannot_execute,
              "cannot run " + command.front() + ": " + std::strerror(errno));
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
  return run_command(command, environment_for(keeper.uris(), password));
}

}  // namespace redlock::sandbox
