// SPDX-License-Identifier: MIT
#include "run/metrics_file.h"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "diag/text.h"
#include "os/clock.h"
#include "os/directory.h"

namespace redlock::run {

namespace {

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
      return trouble(path, "other processes keep its directory locked (see flock(2))");
    case E2BIG:
      return trouble(path, "it is longer than 1 MiB; remove it to begin anew");
    case EINVAL:
      return trouble(path, "it is no regular file, and redlock leaves it as it is");
    default:
      return trouble(path, std::strerror(error));
  }
}

}  // namespace

MetricsFile::MetricsFile(const std::string& path) : path_(path) {
  const std::size_t slash = path.rfind('/');
  const bool here = slash == std::string::npos;
  directory_ = here ? "." : path.substr(0, slash + 1);
  name_ = here ? path : path.substr(slash + 1);
}

/// Reads the present content of the file. A missing file is empty.
std::string MetricsFile::read(const os::Directory& directory, diag::Metrics& metrics) const {
  std::string text;
  const int error = directory.read(name_, kMostBytes, text);
  if (error == ENOENT) return {};
  if (error != 0) return trouble(path_, error);
  std::optional<diag::Metrics> parsed = diag::parse_metrics(text);
  if (!parsed) {
    return trouble(path_, "this version of redlock cannot read it, and leaves it as it is");
  }
  metrics = std::move(*parsed);
  return {};
}

std::string MetricsFile::check() const {
  if (path_.empty()) return {};
  const os::Directory directory(directory_);
  if (directory.error() != 0) return trouble(path_, directory.error());
  if (name_.empty()) return trouble(path_, EISDIR);
  if (const int error = directory.writable(); error != 0) return trouble(path_, error);
  diag::Metrics ignored;
  return read(directory, ignored);
}

std::string MetricsFile::add(const std::string& key, const diag::RunFacts& run, int status) const {
  if (path_.empty()) return {};
  os::Directory directory(directory_);
  if (directory.error() != 0) return trouble(path_, directory.error());
  if (const int error = directory.lock(os::boot_now() + kPatience); error != 0) {
    return trouble(path_, error);
  }
  diag::Metrics metrics;
  if (std::string why = read(directory, metrics); !why.empty()) return why;
  diag::add_run(metrics[diag::printable(key, kMostOfKey)], run, status);
  const std::string text = diag::to_text(metrics);
  if (text.size() > kMostBytes) return trouble(path_, E2BIG);
  const int error = directory.replace(name_, text);
  return error == 0 ? std::string() : trouble(path_, error);
}

}  // namespace redlock::run
