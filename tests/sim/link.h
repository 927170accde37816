// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "network.h"
#include "redis/connection/pipeline.h"
#include "redis/requests/request.h"
#include "request.h"

namespace redlock::sim {

/// One server as a client sees it: redlock's own redis::Pipeline over a simulated connection, with
/// the rules of redis/connection/link.cc and redis/servers/server_set.cc.
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
    std::uint32_t client = 0;
    std::uint8_t server = 0;
    std::uint32_t session = 0;
  };
  /// A new process has no connection yet.
  void begin(const Ends& ends);

  void ask(const lock::Ask& ask, lock::Instant now);
  /// Where the server is connected and owes no answer for too long.
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

  void flush(lock::Instant now);
  void report(lock::Answer answer, std::vector<Arrival>& arrivals);
  void disconnect();

  Ends ends_;
  State state_ = State::idle;
  bool clean_ = true;  ///< no connection of this process to the server has failed
  ConnectionId connection_ = kNoConnection;
  lock::Instant connect_deadline_ = lock::kNever;
  redis::Pipeline pipeline_;
  std::vector<Inbound> inbox_;
  std::vector<Arrival> ready_;
};

}  // namespace redlock::sim
