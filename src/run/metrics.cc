// SPDX-License-Identifier: MIT
#include "run/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "diag/text.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/printable.h"

namespace redlock::run {

namespace {

using std::chrono::milliseconds;

/// Its name says its type and its unit (https://prometheus.io/docs/practices/naming/).
struct Family {
  std::string_view name;
  std::uint64_t LockMetrics::*sample;
  std::string_view help;
};

constexpr Family kFamilies[] = {
    {"redlock_last_run_timestamp_seconds", &LockMetrics::last_run_ms,
     "When the last command was started."},
    {"redlock_last_success_timestamp_seconds", &LockMetrics::last_success_ms,
     "When the last command with exit status 0 ended."},
    {"redlock_last_duration_seconds", &LockMetrics::last_duration_ms,
     "How long the last command ran."},
    {"redlock_last_wait_seconds", &LockMetrics::last_wait_ms,
     "How long the last run waited for the lock."},
    {"redlock_last_exit_status", &LockMetrics::last_exit_status,
     "Exit status of the last redlock."},
    {"redlock_last_fence", &LockMetrics::last_fence, "Fencing number of the last command."},
    {"redlock_runs_total", &LockMetrics::runs, "Commands started."},
    {"redlock_conflicts_total", &LockMetrics::conflicts,
     "Runs given up because another process held the lock."},
    {"redlock_lost_total", &LockMetrics::lost, "Locks lost while the command ran."},
};

bool in_seconds(const Family& family) {
  return family.name.ends_with("_seconds");
}

std::uint64_t whole_ms(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(
      std::max<milliseconds::rep>(0, std::chrono::duration_cast<milliseconds>(time).count()));
}

/// The largest number stays: after a wrap to 0, Prometheus would count it a second time.
void count(std::uint64_t& counter) {
  if (counter != UINT64_MAX) ++counter;
}

/// Removes `what` from the front of `text`, if it is there.
bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

/// Removes a text that diag::label_value() made, and returns it.
std::optional<std::string> take_in_quotes(std::string_view& text) {
  std::string label;
  if (!take(text, "\"")) return std::nullopt;
  while (!text.empty() && text.front() != '"') {
    if (text.front() == '\\') {
      text.remove_prefix(1);
      if (!text.starts_with('"') && !text.starts_with('\\')) return std::nullopt;
    }
    label += text.front();
    text.remove_prefix(1);
  }
  if (!take(text, "\"")) return std::nullopt;
  return label;
}

/// Seconds have three decimals.
std::optional<std::uint64_t> value_of(std::string text, bool seconds) {
  if (seconds) {
    if (text.size() < 5 || text[text.size() - 4] != '.') return std::nullopt;
    text.erase(text.size() - 4, 1);
  }
  return os::whole_number<std::uint64_t>(text);
}

/// Reads one line with a sample. False if it is none.
bool take_sample(std::string_view line, Metrics& metrics) {
  const auto* const family =
      std::ranges::find(kFamilies, line.substr(0, line.find('{')), &Family::name);
  if (family == std::end(kFamilies)) return false;
  line.remove_prefix(family->name.size());
  if (!take(line, "{lock=")) return false;
  const auto lock = take_in_quotes(line);
  if (!lock || !take(line, "} ")) return false;
  const auto value = value_of(std::string(line), in_seconds(*family));
  if (!value) return false;
  metrics[*lock].*family->sample = *value;
  return true;
}

constexpr std::size_t kMostBytes = std::size_t{1024} * 1024;
constexpr std::size_t kMostOfKey = 255;  // no key is longer
constexpr std::chrono::seconds kPatience{1};

/// The message: the file, printable, and why it has no metrics.
std::string trouble(const std::string& path, const std::string& why) {
  return "no metrics in " + diag::printable(path, 255) + ": " + why;
}

std::string trouble(const std::string& path, int error) {
  switch (error) {
    case EWOULDBLOCK:
      return trouble(path, "other processes keep its lock file locked (see flock(2))");
    case E2BIG:
      return trouble(path, "it is longer than 1 MiB; remove it to start again");
    case EINVAL:
      return trouble(path, "it is no regular file, and redlock leaves it as it is");
    default:
      return trouble(path, std::strerror(error));
  }
}

/// Reads the present content of the file. A missing file is empty.
std::string read(const std::string& path, const os::WholeFile& file, Metrics& metrics) {
  std::string text;
  const int error = file.read(kMostBytes, text);
  if (error == ENOENT) return {};
  if (error != 0) return trouble(path, error);
  std::optional<Metrics> parsed = parse_metrics(text);
  if (!parsed) {
    return trouble(path, "this version of redlock cannot read it, and leaves it as it is");
  }
  metrics = std::move(*parsed);
  return {};
}

}  // namespace

void add_run(LockMetrics& metrics, const RunFacts& run, int status) {
  metrics.last_wait_ms = whole_ms(run.waited);
  metrics.last_exit_status = static_cast<std::uint64_t>(status);
  if (run.conflict) count(metrics.conflicts);
  if (run.lost) count(metrics.lost);
  if (!run.job) return;
  count(metrics.runs);
  metrics.last_run_ms = whole_ms(run.job->began.time_since_epoch());
  metrics.last_duration_ms = whole_ms(run.job->ran);
  metrics.last_fence = run.job->fence;
  if (status == 0) metrics.last_success_ms = metrics.last_run_ms + metrics.last_duration_ms;
}

std::string to_text(const Metrics& metrics) {
  std::string text;
  for (const Family& family : kFamilies) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", family.name, family.help,
                        family.name.ends_with("_total") ? "counter" : "gauge");
    for (const auto& [lock, samples] : metrics) {
      const std::uint64_t value = samples.*family.sample;
      const std::string shown = in_seconds(family)
                                    ? fmt::format("{}.{:03}", value / 1000, value % 1000)
                                    : std::to_string(value);
      text += fmt::format("{}{{lock={}}} {}\n", family.name, diag::label_value(lock), shown);
    }
  }
  return text;
}

std::optional<Metrics> parse_metrics(std::string_view text) {
  Metrics metrics;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.starts_with("# HELP redlock_") || line.starts_with("# TYPE redlock_")) continue;
    if (!take_sample(line, metrics)) return std::nullopt;
  }
  return metrics;
}

std::string check_metrics_file(const std::string& path) {
  if (path.empty()) return {};
  const os::WholeFile file(path);
  if (file.error() != 0) return trouble(path, file.error());
  if (const int error = file.writable(); error != 0) return trouble(path, error);
  Metrics ignored;
  return read(path, file, ignored);
}

std::string add_to_metrics_file(const std::string& path, const std::string& key,
                                const RunFacts& run, int status) {
  if (path.empty()) return {};
  os::WholeFile file(path);
  if (file.error() != 0) return trouble(path, file.error());
  if (const int error = file.lock(os::boot_now() + kPatience); error != 0) {
    return trouble(path, error);
  }
  Metrics metrics;
  if (std::string why = read(path, file, metrics); !why.empty()) return why;
  add_run(metrics[diag::printable(key, kMostOfKey)], run, status);
  const std::string text = to_text(metrics);
  if (text.size() > kMostBytes) return trouble(path, E2BIG);
  const int error = file.replace(text);
  return error == 0 ? std::string() : trouble(path, error);
}

}  // namespace redlock::run
