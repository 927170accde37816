// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "redis/tls/settings.h"
#include "redis/uri.h"

namespace redlock::config {

/// Whether somebody who waits for a lock is shown how things stand.
enum class Progress {
  automatic,  ///< on a terminal, and to CI
  always,
  never
};

/// How much of a command is stored on the servers, for people to read.
enum class RecordCommand { full, name, none };

/// Everything a user can set, with its default. What sets it (flag, environment, file) stands in
/// the settings table, config/table.h; the command line itself (name, job) is not a setting.
struct Settings {
  std::vector<redis::Endpoint> servers;  ///< at least one, each server once, passwords filled in
  std::string password_file;
  redis::TlsSettings tls;                 ///< for those of the servers that speak TLS
  std::chrono::milliseconds ttl{30'000};  ///< 1 s to 24 h
  /// The grace. At most ttl/3; none: min(5 s, ttl/6).
  std::optional<std::chrono::milliseconds> kill_after;
  std::chrono::milliseconds min_hold{0};          ///< at most 30 days
  std::chrono::milliseconds once{0};              ///< none: zero; else 1 s to 30 days
  int once_exit_code = 0;                         ///< 0 to 255
  std::chrono::milliseconds server_timeout{200};  ///< at least 1 ms; used: at most ttl/10
  /// Zero: servers are trusted as soon as they run.
  std::chrono::seconds restart_grace{60};
  std::chrono::milliseconds server_wait{10'000};
  std::string prefix;
  std::optional<std::chrono::nanoseconds> wait;         ///< none: for ever; zero: -n
  std::optional<std::chrono::nanoseconds> max_runtime;  ///< none: no limit; never zero
  int stop_signal = 15;                                 ///< SIGTERM
  bool wait_all = false;
  std::string on_lost;          ///< a command for the shell; empty: none
  int conflict_exit_code = 1;   ///< 0 to 255
  bool reentrant = true;        ///< a lock that the job we run in holds is joined
  unsigned log_entries = 1000;  ///< 0: nothing is logged; at most 100,000
  RecordCommand record_command = RecordCommand::full;
  std::string metrics_file;  ///< empty: none
  Progress progress = Progress::automatic;
  bool quiet = false;
  bool verbose = false;
  /// What the user should know about where the settings came from, a line each.
  std::vector<std::string> warnings;

  /// The grace that is used.
  [[nodiscard]] std::chrono::milliseconds grace() const {
    return kill_after.value_or(
        std::min<std::chrono::milliseconds>(std::chrono::seconds(5), ttl / 6));
  }

  /// The time-outs that are used: requests must fail fast enough for a renewal to be tried several
  /// times within a ttl.
  [[nodiscard]] std::chrono::milliseconds request_timeout() const {
    return std::min(server_timeout, ttl / 10);
  }
  [[nodiscard]] std::chrono::milliseconds connect_timeout() const {
    return std::min<std::chrono::milliseconds>(std::chrono::seconds(1), ttl / 10);
  }
};

}  // namespace redlock::config
