// SPDX-License-Identifier: MIT
//
// `redlock sandbox` forks the keeper first, and the keeper creates the directory and the servers.
// So killing `redlock sandbox` never leaves one of them behind, and to end the sandbox the parent
// only closes a pipe.
//
// It sends the parent a report of a few lines, ended by end-of-file:
//
//   ready             error
//   DIRECTORY         STATUS
//   URI               MESSAGE (to the end)
//   URI…
#include "sandbox/sandbox_keeper.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "error.h"
#include "os/descriptors.h"
#include "os/fail.h"
#include "os/pipe.h"
#include "sandbox/sandbox_servers.h"
#include "sandbox/topologies.h"

namespace redlock::sandbox {
namespace {

/// Leaves the keeper with the two pipe ends and /dev/null: a process that reads our standard output
/// to its end, or waits for a descriptor above 2, must not wait for the keeper.
void close_others(int first, int second) {
  const int null = open("/dev/null", O_RDWR);
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fd != first && fd != second)
      dup2(null, fd);  // a pipe end may be 0, 1 or 2 if one of these was closed
  }

  for (int fd : os::open_descriptors()) {
    if (fd > STDERR_FILENO && fd != first && fd != second) close(fd);
  }
}

/// Leaves the terminal's session and ignores signals: only the end of its pipe ends the keeper (and
/// KILL; then PR_SET_PDEATHSIG ends the servers).
void detach() {
  setsid();
  for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTSTP,
                     SIGTTIN, SIGTTOU, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO, SIGPWR}) {
    std::signal(signal, SIG_IGN);
  }
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) std::signal(signal, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
}

void tell(os::Fd report, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(report.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // the parent is dead; the lifeline shows that, too
    done += static_cast<std::size_t>(n);
  }
}

void await_end(const os::Fd& lifeline) {
  char byte = 0;
  while (read(lifeline.get(), &byte, 1) < 0 && errno == EINTR) {
  }
}

void keep(const cli::Sandbox& wanted, const std::string& password, os::Fd lifeline, os::Fd report) {
  try {
    SandboxServers servers(password);
    const Uris uris = start(servers, wanted, lifeline.get());
    if (!uris) return;
    std::string text = "ready\n" + servers.directory() + "\n";
    for (const std::string& uri : *uris) text.append(uri).append("\n");
    tell(std::move(report), text);
    await_end(lifeline);
  } catch (const Error& error) {
    tell(std::move(report),
         "error\n" + std::to_string(static_cast<int>(error.status())) + "\n" + error.what());
  } catch (const std::exception& error) {
    tell(std::move(report),
         "error\n" + std::to_string(static_cast<int>(ExitStatus::os_error)) + "\n" + error.what());
  }
}

std::string read_all(const os::Fd& fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

SandboxKeeper::SandboxKeeper(const cli::Sandbox& wanted, const std::string& password) {
  os::Pipe lifeline = os::make_pipe();
  os::Pipe report = os::make_pipe();
  pid_ = fork();
  if (pid_ < 0) os::fail("cannot fork");
  if (pid_ == 0) {
    detach();
    close_others(lifeline.read.get(), report.write.get());
    // close_others has closed the other two ends. Their owners must not close the numbers again, so
    // the child ends with _exit and never returns from here.
    keep(wanted, password, std::move(lifeline.read), std::move(report.write));
    _exit(0);
  }
  lifeline_ = std::move(lifeline.write);
  report.write.reset();
  try {
    learn(read_all(report.read));
  } catch (...) {
    end();
    throw;
  }
}

SandboxKeeper::~SandboxKeeper() {
  end();
}

void SandboxKeeper::learn(const std::string& report) {
  std::istringstream lines(report);
  std::string line;
  std::getline(lines, line);
  if (line == "ready") {
    std::getline(lines, directory_);
    while (std::getline(lines, line)) uris_.push_back(line);
    return;
  }
  if (line != "error") throw Error(ExitStatus::os_error, "sandbox: its keeper process was killed");
  std::getline(lines, line);
  const int status = static_cast<int>(std::strtol(line.c_str(), nullptr, 10));
  const auto offset = static_cast<std::size_t>(lines.tellg());
  throw Error(static_cast<ExitStatus>(status), report.substr(offset));
}

void SandboxKeeper::end() {
  lifeline_.reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  // The keeper has already done this, unless somebody has killed it.
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace redlock::sandbox
