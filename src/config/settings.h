// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "redis/tls/context.h"
#include "redis/wire/uri.h"

namespace redlock::config {

/// Whether redlock shows the progress of a wait, and whether its output has colours.
enum class When {
  automatic,  ///< on a terminal; the progress of a wait in CI, too
  always,
  never
};

/// How much of a command the servers store, for status and history to show.
enum class RecordCommand { full, name, none };

/// Whose locks the lock's key looks like.
enum class As { redlock, redisson };

/// What Settings::grace() gives without --kill-after.
inline constexpr std::string_view kDefaultGrace = "5s or ttl/6, whichever is less";

/// Everything that a user can set, with its default, but for the lock's name and the job. The table
/// in config/table.h says which flag, variable and key of the file sets each field.
struct Settings {
  std::vector<redis::Endpoint> servers;  ///< at least one, each server once, passwords filled in
  std::string password_file;
  redis::TlsSettings tls;                 ///< for the servers that speak TLS
  std::chrono::milliseconds ttl{30'000};  ///< 1 s to 24 h
  /// The grace, at most ttl/3. Without a value: kDefaultGrace.
  std::optional<std::chrono::milliseconds> kill_after;
  std::chrono::milliseconds min_hold{0};          ///< at most 30 days
  std::chrono::milliseconds hold_on_failure{0};   ///< zero: none; else 1 s to 30 days
  std::chrono::milliseconds once{0};              ///< zero: without --once; else 1 s to 30 days
  int once_exit_code = 0;                         ///< 0 to 255
  std::chrono::milliseconds server_timeout{200};  ///< at least 1 ms; see request_timeout()
  /// Zero: redlock trusts a server as soon as it runs.
  std::chrono::seconds restart_grace{60};
  unsigned replicas = 0;  ///< at most 15; this many must have a grant before it counts
  std::chrono::milliseconds server_wait{10'000};
  std::string prefix;
  std::optional<std::chrono::nanoseconds> wait;  ///< without a value: no limit; zero: -n
  std::size_t max_waiting = 0;  ///< give up if this many runs wait already; 0: any number may
  std::optional<std::chrono::nanoseconds> max_runtime;  ///< without a value: no limit; never zero
  int stop_signal = 15;                                 ///< SIGTERM
  bool wait_all = false;
  bool newest = false;                 ///< give way to newer waiters that have it, too
  std::optional<std::uint64_t> build;  ///< of CI; below 2^53
  bool replaces = false;               ///< revoke the lock from the holder that refuses us first
  As as = As::redlock;
  bool shared = false;          ///< one of many readers, not the one writer
  std::size_t slots = 0;        ///< this many jobs may run at the same time; 0: one
  std::string on_lost;          ///< a command for the shell; empty: none
  int conflict_exit_code = 1;   ///< 0 to 255
  bool reentrant = true;        ///< join a lock that an outer redlock run holds
  unsigned log_entries = 1000;  ///< 0: no log; at most 100,000
  RecordCommand record_command = RecordCommand::full;
  std::string message;       ///< why the user takes the lock, as written
  std::string metrics_file;  ///< empty: none
  When progress = When::automatic;
  When color = When::automatic;
  bool quiet = false;
  unsigned verbose = 0;  ///< how often -v was given
  /// The options of the command line that lead to these servers and keys, without passwords.
  std::vector<std::string> where;
  /// Warnings about the settings and their files, one line each.
  std::vector<std::string> warnings;

  struct Pipe {
    std::string path;
    std::string text;
  };
  /// What redlock read from pipes: nobody can read it there again.
  std::vector<Pipe> pipes;

  [[nodiscard]] std::chrono::milliseconds grace() const {
    return kill_after.value_or(
        std::min<std::chrono::milliseconds>(std::chrono::seconds(5), ttl / 6));
  }

  /// Whether the grace leaves time to renew the lock before it begins.
  [[nodiscard]] bool grace_fits() const { return grace() <= ttl / 3; }

  /// Whether a lock that a restarted server forgot has expired when that server votes again. A
  /// restart grace of zero switches this check off.
  [[nodiscard]] bool ttl_fits() const {
    return restart_grace == std::chrono::seconds::zero() || ttl <= restart_grace;
  }

  /// The time-outs in use. A ttl must have room for several attempts to renew.
  [[nodiscard]] std::chrono::milliseconds request_timeout() const {
    return std::min(server_timeout, ttl / 10);
  }
  [[nodiscard]] std::chrono::milliseconds connect_timeout() const {
    return std::min<std::chrono::milliseconds>(std::chrono::seconds(1), ttl / 10);
  }
};

}  // namespace redlock::config
