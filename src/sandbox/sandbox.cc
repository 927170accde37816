// SPDX-License-Identifier: MIT
//
// Three kinds of processes. Nothing is left, whichever of them is killed once the servers run:
//
//   redlock sandbox ─┬─ COMMAND            gets TERM by PR_SET_PDEATHSIG when we are gone
//                    └─ keeper ─┬─ server 1   killed by PR_SET_PDEATHSIG when the keeper is gone
//                               └─ server 2 …
//
// The keeper has a session of its own, so that neither Ctrl-C nor a hang-up kills the servers of a
// shell that goes on. It notices our death by the end of a pipe.
//
// `redlock sandbox` forks the keeper first, and the keeper creates the directory and the servers.
// So killing `redlock sandbox` never leaves one of them, and to end the sandbox the parent
// only closes a pipe.
//
// It sends the parent a report of a few lines, ended by end-of-file:
//
//   0                 STATUS
//   DIRECTORY         MESSAGE (to the end)
//   SERVERS
#include "sandbox/sandbox.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "os/clock.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/printable.h"
#include "os/process.h"
#include "os/signals.h"

namespace redlock::sandbox {
namespace {

constexpr int kTries = 10;

std::string percent_encode(std::string_view path) {
  std::string encoded;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || std::strchr("/-._~", c) != nullptr;
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

// Each of the start_…() functions returns when all its servers are ready, and gives the value of
// REDLOCK_SERVERS.

std::string start_plain(SandboxServers& servers, std::size_t count) {
  std::string uris;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t server = servers.start({.lines = "port 0\n"});
    uris.append(uris.empty() ? "" : " ").append("unix://" + percent_encode(servers.socket(server)));
  }
  for (std::size_t i = 0; i < count; ++i) servers.until(i, "PING\n", {"+PONG"});
  return uris;
}

// A Redis Cluster of three primaries and three replicas, on ports of 127.0.0.1. Each node's file
// says all about the cluster, so no node has to meet another. Two primaries with the same epoch
// would settle that later by a new one: a slot that moves to another node at that moment would keep
// two owners.

constexpr std::size_t kPrimaries = 3;
constexpr std::size_t kNodes = 6;  ///< node i + kPrimaries is the replica of node i
constexpr std::size_t kSlots = 16384;

// No node may look down before the cluster is ready; later a fail-over should not take long.
constexpr const char* kClusterLines =
    "cluster-enabled yes\ncluster-config-file nodes.conf\ncluster-node-timeout 15000\n";
constexpr const char* kSetTimeout = "CONFIG SET cluster-node-timeout 2000\n";

using Ids = std::vector<std::string>;

Ids make_ids(std::size_t count) {
  Ids ids(count);
  for (std::string& id : ids) id = os::random_hex(20);
  return ids;
}

/// The first of some TCP ports of 127.0.0.1 in a row. They are below 32768, where Linux begins to
/// take ports for connections, and so are those 10,000 above, on which the nodes of a Redis Cluster
/// listen for each other.
int random_ports() {
  return 10'000 + static_cast<int>(os::random_seed() % 12'000);
}

/// What node `self` knows when it starts. Node i listens on port `first_port` + i.
std::string nodes_conf(int first_port, const Ids& ids, std::size_t self) {
  constexpr std::size_t kFirstEpoch = 11;
  std::string text;
  for (std::size_t i = 0; i < kNodes; ++i) {
    const std::size_t primary = i % kPrimaries;
    const bool replica = i != primary;
    const std::size_t first = kSlots * i / kPrimaries;
    const std::size_t last = kSlots * (i + 1) / kPrimaries - 1;
    const std::string slots = replica ? "" : fmt::format(" {}-{}", first, last);
    const int port = first_port + static_cast<int>(i);
    text += fmt::format("{} 127.0.0.1:{}@{} {}{} 0 0 {} connected{}\n", ids[i], port, port + 10'000,
                        i == self ? "myself," : "", replica ? "slave " + ids[primary] : "master -",
                        kFirstEpoch + primary, slots);
  }
  return text + fmt::format("vars currentEpoch {} lastVoteEpoch 0\n", kFirstEpoch + kPrimaries - 1);
}

/// How a server on a port listens, and how it feeds its replicas.
std::string port_lines(int port) {
  return fmt::format(
      "port {}\nbind 127.0.0.1\nrepl-diskless-sync yes\nrepl-diskless-sync-delay 0\n", port);
}

/// "127.0.0.1:PORT,127.0.0.1:PORT…"
std::string nodes_at(int first_port, int count) {
  std::string nodes = fmt::format("127.0.0.1:{}", first_port);
  for (int i = 1; i < count; ++i) nodes += fmt::format(",127.0.0.1:{}", first_port + i);
  return nodes;
}

/// Returns when every node calls the cluster ok, is connected to all others, and knows whom each
/// replica follows: before, a replica cannot take over.
void until_ready(SandboxServers& servers, const Ids& ids) {
  std::vector<std::string> replies{"cluster_state:ok"};
  for (std::size_t i = 0; i < kPrimaries; ++i) replies.push_back("slave " + ids[i]);
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (i == kPrimaries) replies.emplace_back("master_link_status:up");
    servers.until(i, "CLUSTER INFO\nCLUSTER NODES\nINFO replication\n", replies,
                  {"disconnected", "handshake"});
  }
  // The first OK is the answer to AUTH.
  for (std::size_t i = 0; i < kNodes; ++i) servers.until(i, kSetTimeout, {"+OK\r\n+OK"});
}

std::string start_cluster(SandboxServers& servers) {
  const int first_port = random_ports();
  const Ids ids = make_ids(kNodes);
  for (std::size_t i = 0; i < kNodes; ++i) {
    servers.start({.lines = port_lines(first_port + static_cast<int>(i)) + kClusterLines,
                   .nodes = nodes_conf(first_port, ids, i)});
  }
  until_ready(servers, ids);
  return "redis+cluster://:" + servers.password() + '@' + nodes_at(first_port, kNodes);
}

// A primary, two replicas and three Sentinels, on ports of 127.0.0.1. The Sentinels' files name all
// servers and all Sentinels. They would find each other without, but that takes seconds.

constexpr int kServers = 3;  ///< the first one is the primary
constexpr int kSentinels = 3;

/// Sentinel `self`. The servers have the ports from `first_port` on, then come the Sentinels.
std::string sentinel_lines(int first_port, const Ids& ids, int self, const std::string& password) {
  const int sentinels = first_port + kServers;
  const auto id = [&ids](int sentinel) { return ids[static_cast<std::size_t>(sentinel)]; };
  std::string lines = fmt::format(
      "port {}\nbind 127.0.0.1\nsentinel myid {}\nsentinel monitor mymaster 127.0.0.1 {} 2\n"
      "sentinel down-after-milliseconds mymaster 2000\nsentinel failover-timeout mymaster 5000\n"
      "sentinel auth-pass mymaster {}\n",
      sentinels + self, id(self), first_port, password);
  for (int i = 1; i < kServers; ++i) {
    lines += fmt::format("sentinel known-replica mymaster 127.0.0.1 {}\n", first_port + i);
  }
  for (int i = 0; i < kSentinels; ++i) {
    if (i == self) continue;
    lines +=
        fmt::format("sentinel known-sentinel mymaster 127.0.0.1 {} {}\n", sentinels + i, id(i));
  }
  return lines;
}

std::string start_sentinels(SandboxServers& servers) {
  const int first_port = random_ports();
  const Ids ids = make_ids(kSentinels);
  const std::string& password = servers.password();
  // The primary first: a replica that does not reach it waits for 1 s.
  const std::size_t primary = servers.start({.lines = port_lines(first_port)});
  servers.until(primary, "PING\n", {"+PONG"});
  for (int i = 1; i < kServers; ++i) {
    servers.start({.lines = port_lines(first_port + i) +
                            fmt::format("replicaof 127.0.0.1 {}\n", first_port)});
  }
  for (int i = 0; i < kSentinels; ++i) {
    servers.start({.lines = sentinel_lines(first_port, ids, i, password), .sentinel = true});
  }
  for (std::size_t i = 1; i < kServers; ++i) {
    servers.until(i, "INFO replication\n", {"master_link_status:up"});
  }
  for (std::size_t i = kServers; i < kServers + kSentinels; ++i) {
    servers.until(i, "INFO sentinel\n", {"status=ok", "slaves=2,sentinels=3"});
  }
  return "redis+sentinel://:" + password + '@' + nodes_at(first_port + kServers, kSentinels) +
         "/mymaster?sentinel_password=" + password;
}

/// Starts what the command line asks for. If another process has one of the ports, this starts all
/// of them again, on other ports.
std::string start(SandboxServers& servers, const cli::Sandbox& wanted) {
  for (int tries = 1;; ++tries) {
    try {
      if (wanted.kind == cli::Sandbox::Kind::cluster) return start_cluster(servers);
      if (wanted.kind == cli::Sandbox::Kind::sentinel) return start_sentinels(servers);
      return start_plain(servers, static_cast<std::size_t>(wanted.servers));
    } catch (const Error& error) {
      // The end of the server's log says so.
      if (tries == kTries || std::strstr(error.what(), "Address already in use") == nullptr) throw;
      servers.clear();
    }
  }
}

/// The keeper. A failed report is ignored: then the parent is dead, and the lifeline has ended.
void keep(const cli::Sandbox& wanted, const std::string& password, os::Fd lifeline, os::Fd report) {
  try {
    // Only the end of the lifeline ends the keeper (and KILL; then PR_SET_PDEATHSIG ends the
    // servers).
    for (int signal = 1; signal <= SIGRTMAX; ++signal) std::signal(signal, SIG_IGN);
    std::signal(SIGCHLD, SIG_DFL);
    SandboxServers servers(password, lifeline.get());
    os::detach();
    const std::string uris = start(servers, wanted);
    os::write_all(report.get(), "0\n" + servers.directory() + '\n' + uris);
    report.reset();
    std::string nothing;
    os::read_all(lifeline.get(), nothing);  // returns when the parent is gone
  } catch (const std::exception& error) {
    const auto* const own = dynamic_cast<const Error*>(&error);
    const ExitStatus status = own == nullptr ? ExitStatus::os_error : own->status();
    os::write_all(report.get(), std::to_string(static_cast<int>(status)) + "\n" + error.what());
  }
}

/// The process that owns a sandbox's servers, as `redlock sandbox` sees it. When this object or the
/// process that made it ends, the keeper kills the servers, removes their directory and ends.
class SandboxKeeper {
 public:
  /// Returns when all servers are ready. `password`: what they ask for; empty: nothing.
  SandboxKeeper(const cli::Sandbox& wanted, const std::string& password) {
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
  ~SandboxKeeper() { end(); }
  SandboxKeeper(const SandboxKeeper&) = delete;
  SandboxKeeper& operator=(const SandboxKeeper&) = delete;

  /// The value of REDLOCK_SERVERS.
  [[nodiscard]] const std::string& servers() const { return servers_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  void learn(const std::string& report) {
    if (report.empty()) throw Error(ExitStatus::os_error, "sandbox: its keeper process was killed");
    std::istringstream lines(report);
    std::string line;
    std::getline(lines, line);
    if (line != "0") {
      const int status = static_cast<int>(std::strtol(line.c_str(), nullptr, 10));
      throw Error(static_cast<ExitStatus>(status), report.substr(line.size() + 1));
    }
    std::getline(lines, directory_);
    std::getline(lines, servers_);
  }

  void end() {
    lifeline_.reset();
    waitpid(pid_, nullptr, 0);
    // The keeper has already done this, unless somebody has killed it.
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

  pid_t pid_ = -1;
  os::Fd lifeline_;  ///< nobody writes to it; its end-of-file tells the keeper to end
  std::string directory_;
  std::string servers_;
};

std::vector<std::string> users_shell() {
  const std::string_view shell = os::variable("SHELL");
  return {std::string(shell.empty() ? "/bin/sh" : shell)};
}

/// Our environment, with these servers and no passwords of other servers. The user's shell gets a
/// prompt that names the sandbox: PS1 for shells that take it from the environment, PROMPT_COMMAND
/// for bash(1), whose ~/.bashrc sets PS1.
std::vector<std::string> environment_for(const std::string& servers, const std::string& password,
                                         bool for_shell) {
  std::vector<std::string> added{"REDLOCK_SERVERS=" + servers,
                                 // The servers are new, and have forgotten nothing.
                                 "REDLOCK_RESTART_GRACE=0",
                                 // The configuration file is for other servers.
                                 "REDLOCK_CONFIG=/dev/null"};
  if (!password.empty()) added.push_back("REDISCLI_AUTH=" + password);  // for redis-cli
  if (for_shell) {
    added.emplace_back("PS1=(redlock sandbox) $ ");
    added.emplace_back("PROMPT_COMMAND=PS1=\"(redlock sandbox) ${PS1#'(redlock sandbox) '}\"");
  }
  return os::environment_with({"REDLOCK_SERVERS", "REDLOCK_RESTART_GRACE", "REDLOCK_CONFIG",
                               "REDLOCK_PASSWORD", "REDLOCK_PASSWORD_FILE", "REDISCLI_AUTH",
                               for_shell ? "PS1" : "", for_shell ? "PROMPT_COMMAND" : ""},
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
      os::spawn(command, environment, signals, {.own_group = false, .death_signal = SIGTERM});
  if (spawned.pid > 0) return wait_for(spawned.pid, signals);
  errno = spawned.error;
  if (spawned.no_process) os::fail("cannot fork");
  const bool absent = errno == ENOENT || errno == ENOTDIR;
  throw Error(absent ? ExitStatus::not_found : ExitStatus::cannot_execute,
              "cannot run " + os::printable(command.front()) + ": " +
                  os::why_not_run(command.front(), spawned.error));
}

std::string described(const cli::Sandbox& wanted) {
  using Kind = cli::Sandbox::Kind;
  if (wanted.kind == Kind::cluster) return "a private Redis Cluster (3 primaries, 3 replicas)";
  if (wanted.kind == Kind::sentinel) return "a private primary with 2 replicas and 3 Sentinels";
  return std::to_string(wanted.servers) + " private server" + (wanted.servers == 1 ? "" : "s");
}

}  // namespace

Exit carry_out(const cli::Sandbox& wanted) {
  const std::vector<std::string> command = wanted.command.empty() ? users_shell() : wanted.command;
  // Nobody else reaches a Unix socket in the directory; every user of this host reaches a port.
  const bool on_ports = wanted.kind != cli::Sandbox::Kind::plain;
  const std::string password = on_ports ? os::random_hex(20) : "";

  const SandboxKeeper keeper(wanted, password);
  if (isatty(STDERR_FILENO) != 0) {
    const std::string end = wanted.command.empty() ? "you leave this shell (exit or Ctrl-D)"
                                                   : command.front() + " ends";
    std::fprintf(stderr, "redlock: %s in %s, named by REDLOCK_SERVERS; gone when %s\n",
                 described(wanted).c_str(), keeper.directory().c_str(), end.c_str());
    if (wanted.command.empty()) {
      std::fputs("redlock: try: redlock run demo -- sleep 60 &   then: redlock status demo\n",
                 stderr);
    }
  }
  return run_command(command, environment_for(keeper.servers(), password, wanted.command.empty()));
}

}  // namespace redlock::sandbox
