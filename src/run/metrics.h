// SPDX-License-Identifier: MIT
//
// --metrics-file: the text format of Prometheus,
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format, as
// node_exporter's textfile collector reads it. The file also keeps the counters from run to run, so
// this code reads what it has written.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lock/time.h"

namespace redlock::run {

struct RunFacts {
  struct Job {
    std::chrono::system_clock::time_point began;  ///< by this host's clock
    lock::Duration ran;  ///< how long its main process ran, until it was reaped
    std::uint64_t fence;
  };
  lock::Duration waited{};   ///< until the job started, or the attempt was given up
  std::optional<Job> job{};  ///< none: the job never started
  bool conflict = false;     ///< another process had the lock until the limit
  bool lost = false;         ///< status 80 comes from redlock, not from the job
};

/// The samples of one lock; values that were never set are 0.
struct LockMetrics {
  std::uint64_t last_run_ms = 0;      ///< when the job began, since 1970
  std::uint64_t last_success_ms = 0;  ///< when a job last ended with status 0, since 1970
  std::uint64_t last_duration_ms = 0;
  std::uint64_t last_wait_ms = 0;
  std::uint64_t last_exit_status = 0;
  std::uint64_t last_fence = 0;
  std::uint64_t runs = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t lost = 0;

  bool operator==(const LockMetrics&) const = default;
};

/// By the key of the lock, prefix included, as printable() gives it.
using Metrics = std::map<std::string, LockMetrics>;

void add_run(LockMetrics& metrics, const RunFacts& run, int status);

/// The whole file, the locks sorted by key.
std::string to_text(const Metrics& metrics);

/// Reads text that to_text() of this or an earlier version has written. None: the text is something
/// else, or only a part. An empty text has no locks.
std::optional<Metrics> parse_metrics(std::string_view text);

// The file counts the runs of each lock and their outcomes. Several redlocks may write to the same
// file; the lines of other locks stay. Errors here never fail a run: each function returns the
// error as a text for the user, or an empty text. With an empty path there is no file, and they do
// nothing.

/// Finds the errors that are visible before the first write.
std::string check_metrics_file(const std::string& path);

/// Adds a run of the lock with that key; the run ended with `status`. Waits for at most 1 s for
/// other writers. Does not change a file that redlock did not write or that is broken.
std::string add_to_metrics_file(const std::string& path, const std::string& key,
                                const RunFacts& run, int status);

}  // namespace redlock::run
