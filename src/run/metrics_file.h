// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "diag/metrics.h"
#include "os/directory.h"

namespace redlock::run {

/// --metrics-file: counts the runs of each lock and their outcomes. Several redlocks may write to
/// the same file; the lines of other locks stay. Errors here never fail a run: each function
/// returns the error as a text for the user, or an empty text.
class MetricsFile {
 public:
  /// With an empty path there is no file, and the functions do nothing.
  explicit MetricsFile(const std::string& path);

  /// Finds the errors that are visible before the first write.
  [[nodiscard]] std::string check() const;

  /// Adds a run of the lock with that key; the run ended with `status`. Waits for at most 1 s for
  /// other writers. Does not change a file that redlock did not write or that is broken.
  [[nodiscard]] std::string add(const std::string& key, const diag::RunFacts& run,
                                int status) const;

 private:
  [[nodiscard]] std::string read(const os::Directory& directory, diag::Metrics& metrics) const;

  std::string path_;
  std::string directory_;
  std::string name_;  ///< in that directory
};

}  // namespace redlock::run
