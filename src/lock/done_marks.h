// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lock/effect.h"
#include "lock/timing.h"

namespace redlock::lock {

/// The marks of `--once`: a mark says that a run was successful, and when it began. Every server
/// compares a mark with its own clock, so a mark gives its time by that server's clock. It means
/// the same however late it arrives, and the servers' clocks need not agree. The votes show what a
/// server's clock says; a server whose clock is unknown gets no mark.
class DoneMarks {
 public:
  explicit DoneMarks(std::size_t servers) : servers_(servers) {}

  /// Learns from every answer, to whatever request.
  void record(const Reply& reply, Instant now);

  /// Marks a run that began at `began` as successful, on all servers, for `period`.
  void mark(Instant began, Duration period, Effects& effects);

  /// Copies the mark that was found to the servers that have said that they lack it.
  void copy(Effects& effects);

  void retry(Effects& effects);

  void undo(Effects& effects);

  /// The latest successful run that a server named; none: no server named one.
  [[nodiscard]] const std::optional<Done>& found() const { return found_; }

  /// No mark is pending, and none failed.
  [[nodiscard]] bool settled() const {
    return !has_failed() && how_many(servers_, State::asked, &PerServer::state) == 0;
  }
  /// A mark waits for retry().
  [[nodiscard]] bool has_failed() const {
    return how_many(servers_, State::failed, &PerServer::state) > 0;
  }
  [[nodiscard]] std::size_t marked() const {
    return how_many(servers_, State::marked, &PerServer::state);
  }
  [[nodiscard]] std::vector<Complaint> complaints() const {
    return complaints_unless(servers_, [](const auto& at) { return at.state == State::marked; });
  }

 private:
  enum class State { idle, asked, failed, marked };
  struct PerServer {
    /// The server's clock minus ours. Never too large: the server read its clock before answering.
    std::optional<std::chrono::milliseconds> ahead;
    bool has_mark = false;
    State state = State::idle;
    Answer last = Unreachable{};
  };

  void ask(ServerIndex server, Op op, Effects& effects) const;
  void begin(Instant began, Duration period, std::string who, Effects& effects);

  std::vector<PerServer> servers_;
  std::optional<Done> found_;
  Instant found_began_{};  ///< when that run began, at the latest
  Instant began_{};        ///< when the run that we mark began
  Duration period_{};
  std::string who_;  ///< empty: ourselves
};

}  // namespace redlock::lock
