// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "diag/metrics.h"
#include "os/directory.h"

namespace redlock::run {

/// --metrics-file: what became of the runs of each lock. Several redlocks may have the same file;
/// what it says of other locks is kept. Nothing here fails a run: each function returns what is
/// wrong, ready to be told; empty if all is well.
class MetricsFile {
 public:
  /// An empty path: there is none, and nothing to be done.
  explicit MetricsFile(const std::string& path);

  /// What can be told before anything is to be written.
  [[nodiscard]] std::string check() const;

  /// Adds a run of the lock with that key that ended with `status`. Takes 1 s at most if others are
  /// at it. Sees to it that a file that is not ours, or broken, is left as it is.
  [[nodiscard]] std::string add(const std::string& key, const diag::RunFacts& run,
                                int status) const;

 private:
  [[nodiscard]] std::string read(const os::Directory& directory, diag::Metrics& metrics) const;

  std::string path_;
  std::string directory_;
  std::string name_;  ///< in there
};

}  // namespace redlock::run
