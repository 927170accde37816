// SPDX-License-Identifier: MIT
#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "error.h"
#include "os/fd.h"
#include "os/process.h"

namespace redlock::sandbox {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kPatience = 10s;
constexpr int kLogLines = 5;
constexpr int kMomentMs = 5;
constexpr std::string_view kLongestFile = "/99/sock";

/// Throws Error (71). Uses TMPDIR unless a socket's path in it would be too long for sockaddr_un,
/// as with the long directories of build systems.
std::string make_directory() {
  const std::string_view tmpdir = os::variable("TMPDIR");
  const std::string_view name = "/redlock-sandbox.XXXXXX";
  std::string parent = std::filesystem::absolute(tmpdir.empty() ? "/tmp" : tmpdir).string();
  if (parent.size() + name.size() + kLongestFile.size() >= sizeof(sockaddr_un::sun_path)) {
    parent = "/tmp";
  }
  std::string directory = parent.append(name);
  if (mkdtemp(directory.data()) == nullptr) {
    throw Error(ExitStatus::os_error, "sandbox: cannot create a directory " + directory + ": " +
                                          std::strerror(errno) +
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
  if (!file || os::write_all(file.get(), text) != 0) os::fail("sandbox: cannot write " + path);
}

/// Connects to the server at this Unix socket, sends `commands` (each ends with a line break) and
/// returns all that it answers, or as much as came before a pause of 1 s. Empty: the server is not
/// there.
std::string converse(const std::string& path, std::string_view commands) {
  const os::Fd connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const timeval limit{.tv_sec = 1, .tv_usec = 0};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  std::string said;
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      send(connection.get(), commands.data(), commands.size(), MSG_NOSIGNAL) < 0) {
    return said;
  }
  // The server answers what it has read, and then closes its end, too. So we need not understand
  // its replies to know when all are here.
  shutdown(connection.get(), SHUT_WR);
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = recv(connection.get(), buffer.data(), buffer.size(), 0)) > 0;) {
    said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return said;
}

}  // namespace

/// redis-check-rdb is the server under another name: it looks at argv[0]. On Debian it is in
/// redis-tools. Unlike the package redis-server, that starts no service.
SandboxServers::Program SandboxServers::find_program() {
  for (const std::string_view name :
       {"redis-server", "valkey-server", "redis-check-rdb", "valkey-check-rdb"}) {
    const std::string path = os::file_of(std::string(name));
    if (access(path.c_str(), X_OK) != 0) continue;
    return {std::filesystem::absolute(path).string(),
            name.starts_with("redis") ? "redis-server" : "valkey-server"};
  }
  throw Error(ExitStatus::unavailable,
              "sandbox: neither redis-server nor valkey-server nor redis-check-rdb found in PATH; "
              "install one: apt-get install redis-tools");
}

SandboxServers::SandboxServers(std::string password, int stop)
    : program_(find_program()),
      password_(std::move(password)),
      stop_(stop),
      directory_(make_directory()) {}

SandboxServers::~SandboxServers() {
  clear();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void SandboxServers::clear() {
  for (const pid_t pid : pids_) {
    if (pid > 0 && kill(pid, SIGKILL) == 0) waitpid(pid, nullptr, 0);
  }
  std::error_code ignored;
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    std::filesystem::remove_all(folder(i), ignored);
  }
  pids_.clear();
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
  for (int signal = 1; signal <= SIGRTMAX; ++signal) std::signal(signal, SIG_DFL);
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
    os::fail("sandbox: cannot create " + place);
  }
  std::string lines =
      "unixsocket sock\nunixsocketperm 700\nsave \"\"\nappendonly no\ndaemonize no\n" +
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
  if (pid < 0) os::fail("sandbox: cannot fork");
  pids_.push_back(pid);
  return server;
}

void SandboxServers::until(std::size_t server, const std::string& commands,
                           const std::vector<std::string>& present,
                           const std::vector<std::string>& absent) {
  const auto deadline = steady_clock::now() + kPatience;
  const std::string request = password_.empty() ? commands : "AUTH " + password_ + '\n' + commands;
  for (;;) {
    const std::string said = converse(socket(server), request);
    const auto replied = [&said](const std::string& part) { return said.find(part) != said.npos; };
    if (std::ranges::all_of(present, replied) && std::ranges::none_of(absent, replied)) return;
    if (const pid_t dead = waitpid(-1, nullptr, WNOHANG); dead > 0) {
      const auto ended = std::ranges::find(pids_, dead);
      *ended = -1;
      throw Error(ExitStatus::unavailable,
                  "sandbox: " + program_.path + " did not start" +
                      log_tail(folder(static_cast<std::size_t>(ended - pids_.begin()))));
    }
    if (steady_clock::now() >= deadline) {
      throw Error(ExitStatus::unavailable, "sandbox: " + program_.path + " was not ready in 10 s" +
                                               log_tail(folder(server)));
    }
    pollfd stopped{stop_, POLLIN, 0};
    if (poll(&stopped, 1, kMomentMs) > 0) throw Error(ExitStatus::os_error, "sandbox: stopped");
  }
}

}  // namespace redlock::sandbox
