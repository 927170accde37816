// SPDX-License-Identifier: MIT
//
// Reads the log of a lock on one server, for `redlock history`. Absent on purpose: what the lines
// and the logs of several servers mean (look/history.h).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "redis/connection/questions.h"

namespace redlock::observe {

/// A line of the log. Untrusted.
struct LoggedLine {
  std::chrono::milliseconds time{};  ///< Unix time by the server's clock
  std::string event;
  std::string run;   ///< the same for all lines of a run, on all servers
  std::string data;  ///< JSON
  unsigned count = 1;
};

/// Reads over one of the connections of Questions. The result is there once these are finished.
class LogReader {
 public:
  /// `questions` must outlive this.
  LogReader(redis::Questions& questions, std::size_t connection)
      : questions_(questions), connection_(connection) {}
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  /// Can be called again for another lock when it has finished without trouble.
  void read(const std::string& lock_key, lock::Instant now);

  /// Why the log could not be read, or not to its beginning.
  [[nodiscard]] const std::optional<lock::Unreachable>& trouble() const { return trouble_; }
  /// The log has more lines than redlock ever keeps; the oldest lines were not read.
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  /// The latest first; can be taken once.
  [[nodiscard]] std::vector<LoggedLine> take_lines() { return std::move(lines_); }

 private:
  void ask(lock::Instant now);
  void take(const redis::Value& reply, lock::Instant now);
  bool take_line(const redis::Value& value, bool known);

  redis::Questions& questions_;
  std::size_t connection_;
  std::string log_key_;
  std::vector<LoggedLine> lines_;
  std::size_t bytes_ = 0;  ///< of the lines
  std::string next_;       ///< the ID of the last line read, with which the next page begins
  bool overflowed_ = false;
  std::optional<lock::Unreachable> trouble_;
};

}  // namespace redlock::observe
