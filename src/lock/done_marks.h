// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lock/effect.h"
#include "lock/time.h"
#include "lock/vote.h"

namespace redlock::lock {

/// The marks of `--once`: that a run was successful, and when it began. Every server compares a
/// mark with its own clock, so that a mark says its time by that clock: it means the same however
/// late it arrives, and servers' clocks need not agree. What a server's clock shows is learnt from
/// its votes; one whose clock is not known gets no mark.
class DoneMarks {
 public:
  explicit DoneMarks(std::size_t servers) : servers_(servers) {}

  /// Learns from every answer, whatever it answers.
  void record(const Reply& reply, Instant now);

  /// A run that began at `began` was successful: marks it everywhere, for `period`.
  void mark(Instant began, Duration period, Effects& effects);

  /// Gives the mark that was found to the servers that have said they lack it.
  void copy(Effects& effects);

  /// Asks again where a mark did not get through.
  void retry(Effects& effects);

  /// Takes back what mark() did.
  void undo(Effects& effects);

  /// The youngest run that a server told of; none: there was none.
  [[nodiscard]] const std::optional<Done>& found() const { return found_; }

  [[nodiscard]] bool settled() const;     ///< nothing is owed any more
  [[nodiscard]] bool has_failed() const;  ///< something waits for retry()
  [[nodiscard]] std::size_t marked() const;
  [[nodiscard]] std::vector<Complaint> complaints() const;

 private:
  enum class State { idle, asked, failed, marked };
  struct PerServer {
    /// The server's clock less ours, never too large: its time was read before the answer came.
    std::optional<std::chrono::milliseconds> ahead;
    bool has_mark = false;
    State state = State::idle;
    Answer last = Unreachable{};
  };

  void ask(ServerIndex server, Op op, Effects& effects) const;
  void begin(Instant began, Duration period, std::string who, Effects& effects);

  std::vector<PerServer> servers_;
  std::optional<Done> found_;
  Instant found_began_{};  ///< at the latest
  Instant began_{};        ///< of the run being marked
  Duration period_{};
  std::string who_;  ///< empty: we
};

}  // namespace redlock::lock
