// SPDX-License-Identifier: MIT
//
// What the servers must still carry out when an attempt or a job is over.
#pragma once

#include <chrono>
#include <vector>

#include "lock/effect.h"
#include "lock/timing.h"

namespace redlock::lock {

/// Tokens on their way back: each (server, attempt) that still owes a confirmed release. Used for
/// an attempt that was given up, and for the end of a held lock.
class Releases {
 public:
  /// Asks `server` to delete the attempt's token, after all earlier requests to that server.
  void begin(ServerIndex server, AttemptId attempt, Effects& effects);

  /// At the end of a job: gives up our hold. If it was the last hold, the lock becomes free, or
  /// stays cooling until the end of a minimum hold. `holds`: it stays held until then.
  void leave(ServerIndex server, AttemptId attempt, Instant cool_until, Instant now,
             Effects& effects, bool holds = false);

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
  /// The number of servers of these whose answer has that flag.
  [[nodiscard]] std::size_t said(AttemptId attempt, bool Released::*what) const;
  /// The number of servers that released a lock that was to be held: it had been revoked there.
  [[nodiscard]] std::size_t unheld(AttemptId attempt) const;
  [[nodiscard]] std::vector<Complaint> complaints(AttemptId attempt) const;

 private:
  enum class State { asked, failed, released, gone };
  struct Entry {
    ServerIndex server;
    AttemptId attempt;
    bool leaves = false;   ///< gives up a hold; otherwise deletes what an attempt may have taken
    Instant cool_until{};  ///< in the past: delete
    bool holds = false;    ///< until then
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

/// The marks of `--once`: a mark says that a run was successful, and when it began. Every server
/// compares a mark with its own clock, so a mark gives its time by that server's clock. It means
/// the same however late it arrives, and the servers' clocks need not agree. The votes show what a
/// server's clock says. The mark also says how long ago the run began, for a server whose clock is
/// unknown or was set back since: there the mark is too young by the time that it was on its way.
class DoneMarks {
 public:
  explicit DoneMarks(std::size_t servers) : servers_(servers) {}

  /// Learns from every answer, to whatever request.
  void record(const Reply& reply, Instant now);

  /// Marks a run that began at `began` as successful, on all servers, for `period`.
  void mark(Instant began, Duration period, Instant now, Effects& effects);

  /// Copies the mark that was found to the servers that have said that they lack it.
  void copy(Instant now, Effects& effects);

  void retry(Instant now, Effects& effects);

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

  void ask(ServerIndex server, Instant now, Effects& effects);

  std::vector<PerServer> servers_;
  std::optional<Done> found_;
  Instant found_began_{};  ///< when that run began, at the latest
  Instant began_{};        ///< when the run that we mark began
  Duration period_{};
  std::string who_;  ///< empty: ourselves
};

}  // namespace redlock::lock
