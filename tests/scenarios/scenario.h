// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "lock/session.h"

namespace redlock::scenarios {

/// The words of one step after the verb: some bare, some KEY=VALUE.
struct Words {
  std::vector<std::string> bare;
  std::map<std::string, std::string, std::less<>> named;
};

/// One session with a clock in the scenario's hand, that begins at 0. Servers are called A, B, C….
class Scenario {
 public:
  /// Carries out one step and tells what the session did: one line for each effect, with the time
  /// in front, and one for each change of what the session is about. Throws std::runtime_error if
  /// the step makes no sense, such as an answer to what was not asked.
  std::vector<std::string> play(std::string_view step);

 private:
  void begin(const Words& words);
  void win(const Words& words);
  void pass(lock::Duration length);
  void answer(const std::string& servers, const Words& words);
  void answer_one(lock::ServerIndex server, lock::Op op, const Words& words);
  void job(const Words& words);
  void happen(const lock::Event& event);
  void note_state();
  void say(const std::string& text);

  struct Request {
    lock::Ask ask;
    lock::Instant asked;
  };

  std::optional<lock::Session> session_;
  lock::Instant now_{};
  std::vector<Request> open_;  ///< not answered, the oldest first
  std::vector<std::string> lines_;
  bool spawned_ = false;  ///< a job was to be started, so that there is a lease
  std::string state_;
  std::string said_;
  int repeated_ = 0;  ///< how often in a row, after the first time
};

// How a scenario writes what goes into a session and what comes out of it: words.cc. What reads
// throws std::runtime_error.

/// "30s", "250ms".
lock::Duration read_duration(std::string_view text);
/// "acquire".
lock::Op read_op(std::string_view text);
/// "granted fence=7", "refused by=tokenB ttl=20s".
lock::Answer read_answer(const Words& words);

/// The other way round: "29.698s", "250ms".
std::string text_of(lock::Duration duration);
std::string name_of(lock::ServerIndex server);
/// What an effect is, in one line.
std::string text_of(const lock::Effect& effect);
/// How a session has ended.
std::string text_of(const lock::Outcome& outcome);

}  // namespace redlock::scenarios
