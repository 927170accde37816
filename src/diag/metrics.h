// SPDX-License-Identifier: MIT
//
// What --metrics-file tells of each lock, as text: the text format of Prometheus,
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format, as
// node_exporter's textfile collector reads it. The file is also where the counters are kept from
// run to run, so what is written here is read here again. Deliberately absent: files;
// run/metrics_file.h has them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lock/time.h"

namespace redlock::diag {

/// What is to be told of one redlock that has ended.
struct RunFacts {
  struct Job {
    std::chrono::system_clock::time_point began;  ///< by this host's clock
    lock::Duration ran;                           ///< its main process, until it was reaped
    std::uint64_t fence;
  };
  lock::Duration waited{};   ///< until the job was started, or the attempt given up
  std::optional<Job> job{};  ///< none: it was never started
  bool conflict = false;     ///< somebody else had the lock until the limit
  bool lost = false;         ///< status 80 is redlock's own, not the job's
};

/// The samples of one lock; 0: has never been.
struct LockMetrics {
  std::uint64_t last_run_ms = 0;      ///< since 1970, when the job began
  std::uint64_t last_success_ms = 0;  ///< since 1970, when one ended with status 0
  std::uint64_t last_duration_ms = 0;
  std::uint64_t last_wait_ms = 0;
  std::uint64_t last_exit_status = 0;
  std::uint64_t last_fence = 0;
  std::uint64_t runs = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t lost = 0;

  bool operator==(const LockMetrics&) const = default;
};

/// By the lock's key, the prefix included, as printable() leaves it.
using Metrics = std::map<std::string, LockMetrics>;

/// Adds a run that ended with `status`.
void add_run(LockMetrics& metrics, const RunFacts& run, int status);

/// The whole file, the locks sorted by key.
std::string to_text(const Metrics& metrics);

/// What to_text made, of this version or an earlier one that knew less; none: anything else, a
/// part of it included. An empty text has no locks.
std::optional<Metrics> parse_metrics(std::string_view text);

}  // namespace redlock::diag
