// SPDX-License-Identifier: MIT
//
// One server as a process sees it: a connection for requests and one for wake-ups, as
// redis/connection/link.cc and redis/servers/queue_member.cc make them. What a connection carries
// stays in order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "attempt_tokens.h"
#include "lock/vote.h"
#include "queueing/host.h"
#include "queueing/timeline.h"
#include "random.h"

namespace redlock::sim::queueing {

/// How far a process is from a server.
struct Distance {
  Time one_way = std::chrono::microseconds(200);
  Time jitter = std::chrono::microseconds(50);
};

/// What a process hears.
class Listener {
 public:
  virtual void replied(const lock::Reply& reply) = 0;
  virtual void woken(lock::Duration in) = 0;
  virtual void subscribed(lock::ServerIndex server) = 0;

 protected:
  ~Listener() = default;
};

class Wire {
 public:
  struct Ends {
    Timeline* timeline;
    Random* random;
    Host* host;
    Listener* listener;
    const LockSettings* settings;
    const AttemptTokens* tokens;
    Waiter waiter;
    Distance distance;
    lock::Duration timeout;
    bool may_subscribe;
  };

  explicit Wire(const Ends& ends) : ends_(ends) {}
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void ask(const lock::Ask& ask);
  /// JoinQueue: joins where it is connected and nothing is owed; subscribes where it has not.
  void join_queue(lock::Ticket ticket);
  void wake(const WakeUp& wake_up);
  /// It left the queue: it closes the subscription.
  void unsubscribe();

  /// Nothing gets through until then. A connection that has been silent for long breaks.
  void cut(Time until, Time breaks_after);
  /// The process has ended, or was killed: the kernel closes its connections.
  void end();

 private:
  enum class State : std::uint8_t { idle, dialing, ready };
  struct Pending {
    lock::Ask ask;
    lock::Instant sent;
    std::uint64_t number = 0;
    bool written = false;
    bool told = false;  ///< that it timed out
    bool note = false;  ///< nothing is told of its answer
  };

  [[nodiscard]] lock::Instant now() const { return lock::Instant(ends_.timeline->now()); }
  [[nodiscard]] Time travel() const;
  [[nodiscard]] Time arrival_there();
  [[nodiscard]] Time arrival_here();
  [[nodiscard]] Request request_of(const lock::Ask& ask) const;
  [[nodiscard]] bool ever_sent(lock::AttemptId attempt) const;
  void connect();
  void connected();
  void write(Pending& pending);
  void send(const Request& request);
  void take_response(const Response& response);
  void time_out(std::uint64_t number);
  void tell(const lock::Ask& ask, lock::Instant sent, const lock::Answer& answer);
  void tell_soon(const lock::Ask& ask, const lock::Answer& answer);
  void subscribe();
  void disconnect();

  Ends ends_;
  State state_ = State::idle;
  std::uint32_t connection_ = 0;  ///< its number: what belongs to an earlier one is void
  std::uint32_t subscription_ = 0;
  bool subscribes_ = false;
  std::uint32_t server_life_ = 0;
  std::uint32_t subscribed_life_ = 0;
  std::deque<Pending> queue_;
  std::uint64_t requests_ = 0;
  std::vector<lock::AttemptId> sent_;
  Time last_there_{};
  Time last_here_{};
  Time cut_until_{};
  bool ended_ = false;
};

}  // namespace redlock::sim::queueing
