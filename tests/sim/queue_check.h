// SPDX-License-Identifier: MIT
//
// Is the queue of waiters of the model (queue.h) that of the scripts? Sends random sequences of
// requests of several waiters to a real server and to the model. Some of them subscribe to their
// wake-ups. In between time passes, a lot of it at once, or the clock is set back: the keys are
// written by hand for that. Every answer, every wake-up and every key must be the same.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "random.h"
#include "real_server.h"
#include "server.h"

namespace redlock::sim {

class QueueCheck {
 public:
  /// With a mistake in the model there must be a difference.
  QueueCheck(const std::string& socket, std::uint64_t seed, Mutation mutation = Mutation::none);

  /// One sequence, with empty keys at its beginning. False: there was a difference, and story()
  /// tells it. A sequence in which the machine was too slow ends early.
  bool sequence(std::uint64_t number);

  [[nodiscard]] const std::string& story() const { return story_; }

 private:
  [[nodiscard]] redis::LockContext context_of(std::uint32_t number) const;
  void subscribe();
  void let_time_pass();
  void write_times(std::int64_t now);
  void request();
  void acquire(std::uint32_t number);  ///< 0: somebody who is not in the queue
  void join(std::uint32_t number);
  void leave_queue(std::uint32_t number);
  void leave_lock();
  void change_lock();
  std::vector<std::string> heard();
  [[nodiscard]] std::string real_queue();
  [[nodiscard]] std::string model_queue() const;
  [[nodiscard]] std::int64_t model_now() const { return now_; }
  bool same(const std::string& what, const std::string& real, const std::string& model);

  RealServer redis_;
  RealServer subscriber_;
  Random random_;
  Server model_;
  Mutation mutation_;
  LockSettings settings_{0, 60'000};
  std::int64_t now_ = 0;  ///< what the server's clock showed before the request
  std::set<Waiter> subscribed_;
  std::vector<std::string> published_;  ///< by the model, to those who have subscribed
  std::vector<lock::Ticket> tickets_;   ///< by the number of the waiter; 0: none yet
  std::string story_;
  bool differs_ = false;
};

}  // namespace redlock::sim
