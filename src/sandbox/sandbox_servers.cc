// SPDX-License-Identifier: MIT
#include "sandbox/sandbox_servers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
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

#include "error.h"
#include "os/fd.h"

namespace redlock::sandbox {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kPatience = 10s;
constexpr int kAskAgainMs = 5;
constexpr int kLogLines = 5;
constexpr std::string_view kLongestFile = "/99.sock";

struct Program {
  std::string path;
  std::string name;  ///< argv[0]
};

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

/// redis-check-rdb is the server under another name: it looks at argv[0]. On Debian it is in
/// redis-tools. Unlike the package redis-server, that starts no service.
Program find_program() {
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

/// Turns this child into a server.
[[noreturn]] void become(const Program& program, const std::string& directory,
                         const std::string& socket, const std::string& log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before prctl
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  if (chdir(directory.c_str()) != 0) _exit(1);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) std::signal(signal, SIG_DFL);
  }
  setenv("LC_ALL", "C", 1);  // Redis 7.2 does not start with a locale that is not installed
  execl(program.path.c_str(), program.name.c_str(), "--port", "0", "--unixsocket", socket.c_str(),
        "--unixsocketperm", "700", "--save", "", "--appendonly", "no", "--daemonize", "no",
        static_cast<char*>(nullptr));
  dprintf(STDERR_FILENO, "cannot execute %s: %s\n", program.path.c_str(), std::strerror(errno));
  _exit(127);
}

enum class Answer { ready, not_yet, stop };

/// Connects and sends PING, and waits for the answer for at most 0.1 s.
Answer ping(const std::string& socket_path, int stop) {
  const os::Fd connection(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  const std::string_view request = "PING\r\n";
  const bool sent =
      connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(request.size());

  std::array<pollfd, 2> waiting{pollfd{stop, POLLIN, 0},
                                pollfd{sent ? connection.get() : -1, POLLIN, 0}};
  if (poll(waiting.data(), waiting.size(), sent ? 100 : kAskAgainMs) <= 0) return Answer::not_yet;
  if (waiting[0].revents != 0) return Answer::stop;
  std::array<char, 16> reply{};
  const ssize_t got = recv(connection.get(), reply.data(), reply.size(), 0);
  const std::string_view text(reply.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return text.starts_with("+PONG") ? Answer::ready : Answer::not_yet;
}

std::string log_tail(const std::string& log) {
  std::deque<std::string> tail;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    tail.push_back(line);
    if (tail.size() > kLogLines) tail.pop_front();
  }
  std::string text = tail.empty() ? "; it wrote nothing" : "; the end of its log:";
  for (const std::string& line : tail) text.append("\n  ").append(line);
  return text;
}

std::string percent_encode(std::string_view path) {
  const std::string_view hex = "0123456789ABCDEF";
  std::string encoded;
  for (char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      encoded += c;
    } else {
      encoded.append({'%', hex[byte >> 4U], hex[byte & 15U]});
    }
  }
  return encoded;
}

}  // namespace

SandboxServers::SandboxServers(int count) {
  const Program program = find_program();
  program_ = program.path;
  directory_ = make_directory();
  const pid_t self = getpid();
  for (int i = 1; i <= count; ++i) {
    const std::string stem = directory_ + "/" + std::to_string(i);
    Server server{.pid = -1, .socket = stem + ".sock", .log = stem + ".log"};
    server.pid = fork();
    if (server.pid == 0) become(program, directory_, server.socket, server.log, self);
    if (server.pid < 0) {
      const std::string message = system_error("sandbox: cannot fork");
      end();
      throw Error(ExitStatus::os_error, message);
    }
    servers_.push_back(server);
  }
}

SandboxServers::~SandboxServers() {
  end();
}

bool SandboxServers::wait_until_ready(int stop) {
  const auto deadline = steady_clock::now() + kPatience;
  for (Server& server : servers_) {
    for (;;) {
      const Answer answer = ping(server.socket, stop);
      if (answer == Answer::stop) return false;
      if (answer == Answer::ready) break;
      if (waitpid(server.pid, nullptr, WNOHANG) == server.pid) {
        server.pid = -1;
        throw Error(ExitStatus::unavailable,
                    "sandbox: " + program_ + " did not start" + log_tail(server.log));
      }
      if (steady_clock::now() >= deadline) {
        throw Error(ExitStatus::unavailable,
                    "sandbox: " + program_ + " did not answer in 10 s" + log_tail(server.log));
      }
    }
  }
  return true;
}

std::vector<std::string> SandboxServers::uris() const {
  std::vector<std::string> uris;
  for (const Server& server : servers_) uris.push_back("unix://" + percent_encode(server.socket));
  return uris;
}

void SandboxServers::end() {
  for (const Server& server : servers_) {
    if (server.pid > 0) kill(server.pid, SIGKILL);
  }
  for (Server& server : servers_) {
    while (server.pid > 0 && waitpid(server.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    server.pid = -1;
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace redlock::sandbox
