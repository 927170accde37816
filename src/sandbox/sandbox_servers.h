// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "error.h"
#include "os/fd.h"

namespace redlock::sandbox {

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The first of `count` free TCP ports of 127.0.0.1 in a row. The ports 10,000 above them, on which
/// the nodes of a Redis Cluster listen for each other, are free, too. Throws Error (71) if it finds
/// none.
int find_ports(int count);

/// A server could not start, because another process had taken its port since find_ports().
class PortTaken : public Error {
 public:
  using Error::Error;
};

/// Servers in a directory of their own (mode 0700, in $TMPDIR or /tmp), as children of this
/// process. The destructor kills and reaps them and removes the directory; if somebody kills this
/// process first, the kernel kills them (PR_SET_PDEATHSIG).
class SandboxServers {
 public:
  /// `password`: what the servers ask for; empty: nothing. Throws Error: 69 if there is no server
  /// program, 71 if there is no directory.
  explicit SandboxServers(std::string password);
  ~SandboxServers();
  SandboxServers(const SandboxServers&) = delete;
  SandboxServers& operator=(const SandboxServers&) = delete;

  /// What is different from server to server.
  struct Configuration {
    std::string lines;      ///< of redis.conf
    std::string nodes{};    ///< nodes.conf; empty: none
    bool sentinel = false;  ///< it is not a server but a Sentinel
  };

  /// Starts a server, and does not wait for it. Returns its number, from 0. Throws Error (71) if
  /// the system refused something.
  std::size_t start(const Configuration& configuration);

  using Condition = std::function<bool(const std::string& replies)>;

  /// Sends the commands (each ends with a line break) until their replies satisfy `condition`.
  /// False when `stop` (a descriptor) has become readable or hung up. Throws Error (69), with the
  /// end of the log, if any server has ended (PortTaken: another process has its port), or if this
  /// one does not reply so within 10 s.
  [[nodiscard]] bool until(std::size_t server, const std::string& commands,
                           const Condition& condition, int stop);
  /// The same, until the replies contain all `words`.
  [[nodiscard]] bool until(std::size_t server, const std::string& commands,
                           std::initializer_list<std::string_view> words, int stop) {
    return until(
        server, commands,
        [&](const std::string& replies) {
          return std::ranges::all_of(words, [&](auto word) { return contains(replies, word); });
        },
        stop);
  }

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
  std::string directory_;
  std::vector<pid_t> pids_;  ///< -1: reaped
};

}  // namespace redlock::sandbox
