// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "lock/effect.h"
#include "lock/time.h"
#include "lock/vote.h"

namespace redlock::lock {

/// Tokens on their way back: which (server, attempt) still owes a confirmed release. Serves both a
/// given-up attempt and the end of a held lock.
class Release {
 public:
  /// Asks `server` to delete the attempt's token. Queues behind what that server was asked before.
  void begin(ServerIndex server, AttemptId attempt, Effects& effects);

  /// At the end of a job: gives up our hold. If it is the last one, the lock is free, or, until the
  /// end of a minimum hold, cooling.
  void leave(ServerIndex server, AttemptId attempt, Instant cool_until, Instant now,
             Effects& effects);

  /// Asks again where the release did not get through. Harmless where it did after all.
  void retry(Instant now, Effects& effects);

  /// Takes the answer to a release; others are ignored.
  void record(const Reply& reply);

  /// This server has something yet to answer.
  [[nodiscard]] bool owes(ServerIndex server) const;
  /// Something failed and waits for retry().
  [[nodiscard]] bool has_failed() const;

  [[nodiscard]] std::size_t released(AttemptId attempt) const;  ///< servers that took it back
  /// Servers where it was not there when they were first asked.
  [[nodiscard]] std::size_t gone(AttemptId attempt) const;
  [[nodiscard]] std::vector<Complaint> complaints(AttemptId attempt) const;

 private:
  enum class State { asked, failed, released, gone };
  struct Entry {
    ServerIndex server;
    AttemptId attempt;
    Op op = Op::release;
    Instant cool_until{};  ///< in the past: delete
    State state = State::asked;
    /// An earlier request failed. It may have deleted the token all the same; or the server was
    /// down, and what it forgot it may have forgotten after the job's end. Either way "missing" now
    /// says that nothing is left there, and nothing about what was.
    bool failed_before = false;
    Answer last = Missing{};
  };

  [[nodiscard]] static bool is_settled(const Entry& entry) {
    return entry.state == State::released || entry.state == State::gone;
  }
  static void ask(const Entry& entry, Instant now, Effects& effects);
  [[nodiscard]] std::size_t count(AttemptId attempt, State state) const;

  std::vector<Entry> entries_;
};

}  // namespace redlock::lock
