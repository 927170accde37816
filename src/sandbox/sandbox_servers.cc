// SPDX-License-Identifier: MIT
#include "sandbox/sandbox_servers.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "error.h"
#include "os/fd.h"
#include "sandbox/conversation.h"

namespace redlock::sandbox {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kPatience = 10s;
constexpr int kLogLines = 5;
constexpr std::string_view kPortTaken = "Address already in use";  // as the server's log has it
constexpr std::string_view kLongestFile = "/99/sock";

std::string system_error(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

std::optional<std::string> in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    std::string file = folder;
    file.append("/").append(name);
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

/// Throws Error (71). Uses TMPDIR unless a socket's path in it would be too long for sockaddr_un,
/// as with the long directories of build systems.
std::string make_directory() {
  const char* tmpdir = std::getenv("TMPDIR");
  std::string parent = tmpdir != nullptr && *tmpdir != '\0' ? tmpdir : "/tmp";
  const std::string_view name = "/redlock-sandbox.XXXXXX";
  std::error_code failed;
  std::string absolute = std::filesystem::absolute(parent, failed).string();
  if (!failed) parent = absolute;
  if (parent.size() + name.size() + kLongestFile.size() >= sizeof(sockaddr_un::sun_path)) {
    parent = "/tmp";
  }
  std::string directory = parent.append(name);
  if (mkdtemp(directory.data()) == nullptr) {
    throw Error(ExitStatus::os_error,
                system_error("sandbox: cannot create a directory " + directory) +
                    "; set TMPDIR to one you can write to");
  }
  return directory;
}

std::string log_tail(const std::string& folder) {
  std::deque<std::string> tail;
  std::ifstream lines(folder + "/log");
  for (std::string line; std::getline(lines, line);) {
    tail.push_back(line);
    if (tail.size() > kLogLines) tail.pop_front();
  }
  std::string text = tail.empty() ? "; it wrote nothing" : "; the end of its log:";
  for (const std::string& line : tail) text.append("\n  ").append(line);
  return text;
}

void write_file(const std::string& path, const std::string& text) {
  const os::Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw Error(ExitStatus::os_error, system_error("sandbox: cannot write " + path));
  }
}

}  // namespace

/// redis-check-rdb is the server under another name: it looks at argv[0]. On Debian it is in
/// redis-tools. Unlike the package redis-server, that starts no service.
SandboxServers::Program SandboxServers::find_program() {
  struct Candidate {
    const char* file;
    const char* name;
  };
  for (const Candidate& candidate :
       {Candidate{"redis-server", "redis-server"}, Candidate{"valkey-server", "valkey-server"},
        Candidate{"redis-check-rdb", "redis-server"},
        Candidate{"valkey-check-rdb", "valkey-server"}}) {
    if (auto path = in_path(candidate.file)) return {*path, candidate.name};
  }
  throw Error(ExitStatus::unavailable,
              "sandbox: neither redis-server nor valkey-server nor redis-check-rdb found in PATH; "
              "install one: apt-get install redis-tools");
}

SandboxServers::SandboxServers(std::string password)
    : program_(find_program()), password_(std::move(password)), directory_(make_directory()) {}

SandboxServers::~SandboxServers() {
  clear();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void SandboxServers::clear() {
  for (pid_t pid : pids_) {
    if (pid > 0) kill(pid, SIGKILL);
  }
  for (pid_t pid : pids_) {
    while (pid > 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  std::error_code ignored;
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    std::filesystem::remove_all(folder(i), ignored);
  }
  pids_.clear();
  ports_ = ReservedPorts{};
}

std::string SandboxServers::folder(std::size_t server) const {
  return directory_ + '/' + std::to_string(server + 1);
}

std::string SandboxServers::socket(std::size_t server) const {
  return folder(server) + "/sock";
}

/// Turns this child into a server. Its files have names relative to its folder, so that the folder
/// may have any name, and passwords are in a file, because everybody can see the arguments.
void SandboxServers::become(const std::string& folder, bool sentinel, pid_t parent) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before prctl
  if (chdir(folder.c_str()) != 0) _exit(1);
  const int out = open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) std::signal(signal, SIG_DFL);
  }
  setenv("LC_ALL", "C", 1);  // Redis 7.2 does not start with a locale that is not installed
  execl(program_.path.c_str(), program_.name, "redis.conf", sentinel ? "--sentinel" : nullptr,
        static_cast<char*>(nullptr));
  dprintf(STDERR_FILENO, "cannot execute %s: %s\n", program_.path.c_str(), std::strerror(errno));
  _exit(127);
}

std::size_t SandboxServers::start(const Configuration& configuration) {
  const std::size_t server = pids_.size();
  const std::string place = folder(server);
  if (mkdir(place.c_str(), 0700) != 0) {
    throw Error(ExitStatus::os_error, system_error("sandbox: cannot create " + place));
  }
  const std::string mode = "700";
  std::string lines =
      "unixsocket sock\n"
      "unixsocketperm " +
      mode +
      "\n"
      "save \"\"\n"
      "appendonly no\n"
      "daemonize no\n" +
      configuration.lines;
  if (!password_.empty()) {
    lines += "requirepass " + password_ + '\n';
    if (!configuration.sentinel) lines += "masterauth " + password_ + '\n';
  }
  write_file(place + "/redis.conf", lines);
  if (!configuration.nodes.empty()) write_file(place + "/nodes.conf", configuration.nodes);

  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(place, configuration.sentinel, self);
  if (pid < 0) throw Error(ExitStatus::os_error, system_error("sandbox: cannot fork"));
  pids_.push_back(pid);
  return server;
}

bool SandboxServers::until(std::size_t server, const std::string& commands,
                           std::initializer_list<std::string_view> words, int stop) {
  const auto has_all = [&](const std::string& replies) {
    return std::ranges::all_of(
        words, [&](std::string_view word) { return replies.find(word) != std::string::npos; });
  };
  return until(server, commands, has_all, stop);
}

bool SandboxServers::until(std::size_t server, const std::string& commands,
                           const Condition& condition, int stop) {
  const auto deadline = steady_clock::now() + kPatience;
  const std::string request = password_.empty() ? commands : "AUTH " + password_ + '\n' + commands;
  for (;;) {
    const std::optional<std::string> said = converse(socket(server), request, stop, deadline);
    if (!said) return false;
    if (condition(*said)) return true;
    if (waitpid(pids_[server], nullptr, WNOHANG) == pids_[server]) {
      pids_[server] = -1;
      report_end(server);
    }
    if (steady_clock::now() >= deadline) {
      throw Error(ExitStatus::unavailable, "sandbox: " + program_.path + " was not ready in 10 s" +
                                               log_tail(folder(server)));
    }
    if (!wait_a_moment(stop)) return false;
  }
}

void SandboxServers::report_end(std::size_t server) const {
  const std::string tail = log_tail(folder(server));
  const std::string message = "sandbox: " + program_.path + " did not start" + tail;
  if (tail.find(kPortTaken) != std::string::npos) {
    throw PortTaken(ExitStatus::unavailable, message);
  }
  throw Error(ExitStatus::unavailable, message);
}

}  // namespace redlock::sandbox
