// SPDX-License-Identifier: MIT
//
// `redlock sandbox`: private servers for as long as a command runs. Deliberately absent: keeping
// data, TLS, users. Users who need those start a server.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "cli/command_line.h"
#include "error.h"

namespace redlock::sandbox {

/// Starts private Redis or Valkey servers, runs the command with their URIs in REDLOCK_SERVERS, and
/// ends the servers. Gives the command's exit status or signal. Throws Error: 69 if there is no
/// server program or a server is not ready, 71 if the system refused, 126 and 127 for a command
/// that cannot be run.
Exit carry_out(const cli::Sandbox& wanted);

/// Servers in a directory of their own (mode 0700, in $TMPDIR or /tmp), as children of this
/// process. The destructor kills and reaps them and removes the directory; if somebody kills this
/// process first, the kernel kills them (PR_SET_PDEATHSIG).
class SandboxServers {
 public:
  /// `password`: what the servers ask for; empty: nothing. `stop`: a descriptor that becomes
  /// readable or hangs up when nobody needs the servers any more. Throws Error: 69 if there is no
  /// server program, 71 if there is no directory.
  SandboxServers(std::string password, int stop);
  ~SandboxServers();
  SandboxServers(const SandboxServers&) = delete;
  SandboxServers& operator=(const SandboxServers&) = delete;

  struct Configuration {
    std::string lines;      ///< of redis.conf
    std::string nodes{};    ///< nodes.conf; empty: none
    bool sentinel = false;  ///< it is not a server but a Sentinel
  };

  /// Starts a server, and does not wait for it. Returns its number, from 0. Throws Error (71) if
  /// the system refused something.
  std::size_t start(const Configuration& configuration);

  /// Sends the commands (each ends with a line break) until their replies contain all of `present`
  /// and none of `absent`. Throws Error (69), with the end of the log, if any server has ended, or
  /// if this one does not reply so within 10 s; 71 on `stop`.
  void until(std::size_t server, const std::string& commands,
             const std::vector<std::string>& present, const std::vector<std::string>& absent = {});

  /// Kills all servers and removes their files. The next one is number 0.
  void clear();

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& password() const { return password_; }
  [[nodiscard]] std::string socket(std::size_t server) const;

 private:
  struct Program {
    std::string path;
    const char* name;  ///< argv[0]
  };
  static Program find_program();
  [[nodiscard]] std::string folder(std::size_t server) const;
  void become(const std::string& folder, bool sentinel, pid_t parent) const;

  Program program_;
  std::string password_;
  int stop_;
  std::string directory_;
  std::vector<pid_t> pids_;  ///< -1: reaped
};

}  // namespace redlock::sandbox
