// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "attempt_tokens.h"
#include "lock/time.h"
#include "lock/vote.h"
#include "network.h"
#include "redis/requests/request.h"

namespace redlock::sim {

/// One server as a client sees it: the time-outs, the queue and the words of
/// redis/connection/link.cc and redis/servers/server_set.cc, over a simulated connection.
class Link {
 public:
  struct Arrival {
    lock::Ask ask;
    lock::Instant sent;
    lock::Answer answer;
  };

  struct Ends {
    Transport* transport = nullptr;
    const redis::LockContext* context = nullptr;
    const AttemptTokens* tokens = nullptr;
    lock::Duration connect_timeout{};
    lock::Duration server_timeout{};
    std::uint8_t client = 0;
    std::uint8_t server = 0;
    std::uint32_t session = 0;
    Mutation mutation = Mutation::none;
  };
  /// A new process has no connection yet.
  void begin(const Ends& ends);

  void ask(const lock::Ask& ask, lock::Instant now);
  /// Where the server is connected and owes nothing. The answer says nothing that matters.
  void join_queue(lock::Ticket ticket, lock::Instant now);
  void take_in(Inbound inbound) { inbox_.push_back(std::move(inbound)); }
  /// Works off what came in, applies the time-outs, and appends what there is to say.
  void turn(lock::Instant now, std::vector<Arrival>& arrivals);
  [[nodiscard]] lock::Instant deadline() const;
  [[nodiscard]] bool has_news() const { return !inbox_.empty() || !ready_.empty(); }
  /// The process is gone.
  void end(bool orderly);

 private:
  enum class State : std::uint8_t { idle, dialing, ready };
  enum class Notice : std::uint8_t { nothing, timed_out };
  struct Pending {
    lock::Ask ask;
    lock::Instant sent;
    lock::Instant deadline = lock::kNever;
    bool written = false;
    bool note = false;  ///< no Ask: nothing is told of its answer
    Notice told = Notice::nothing;
  };

  void connect(lock::Instant now);
  void write(Pending& pending, lock::Instant now);
  void take_answer(lock::Answer answer, std::vector<Arrival>& arrivals);
  void disconnect(std::vector<Arrival>& arrivals);
  void expire(lock::Instant now, std::vector<Arrival>& arrivals);
  [[nodiscard]] bool ever_sent(lock::AttemptId attempt) const;

  Ends ends_;
  State state_ = State::idle;
  bool clean_ = true;  ///< no connection of this process to the server has failed
  ConnectionId connection_ = kNoConnection;
  lock::Instant connect_deadline_ = lock::kNever;
  std::vector<Pending> queue_;
  std::vector<lock::AttemptId> sent_;
  std::vector<Inbound> inbox_;
  std::vector<Arrival> ready_;
};

}  // namespace redlock::sim
