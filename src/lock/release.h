// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lock/effect.h"

namespace redlock::lock {

/// Tokens on their way back: each (server, attempt) that still owes a confirmed release. Used for
/// an attempt that was given up, and for the end of a held lock.
class Release {
 public:
  /// Asks `server` to delete the attempt's token, after all earlier requests to that server.
  void begin(ServerIndex server, AttemptId attempt, Effects& effects);

  /// At the end of a job: gives up our hold. If it was the last hold, the lock becomes free, or
  /// stays cooling until the end of a minimum hold.
  void leave(ServerIndex server, AttemptId attempt, Instant cool_until, Instant now,
             Effects& effects);

  /// Sends the releases that failed again. Harmless if the server had carried one out after all.
  void retry(Instant now, Effects& effects);

  void record(const Reply& reply);

  [[nodiscard]] bool owes(ServerIndex server) const;
  [[nodiscard]] bool has_failed() const {
    return std::ranges::count(entries_, State::failed, &Entry::state) > 0;
  }

  [[nodiscard]] std::size_t released(AttemptId attempt) const {
    return count(attempt, State::released);
  }
  /// The number of servers that did not have the token when they were first asked.
  [[nodiscard]] std::size_t gone(AttemptId attempt) const { return count(attempt, State::gone); }
  /// The number of servers of these that said that other processes of the job still hold the lock.
  [[nodiscard]] std::size_t kept(AttemptId attempt) const;
  [[nodiscard]] std::vector<Complaint> complaints(AttemptId attempt) const;

 private:
  enum class State { asked, failed, released, gone };
  struct Entry {
    ServerIndex server;
    AttemptId attempt;
    Op op = Op::release;
    Instant cool_until{};  ///< in the past: delete
    State state = State::asked;
    /// An earlier request failed. The server may have deleted the token all the same. Or the server
    /// was down, and may have forgotten the token after the end of the job. Either way "missing"
    /// now says that nothing is left there, and nothing about what was there before.
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
