// SPDX-License-Identifier: MIT
//
// The way from a process to a server, as long as it is, and what comes along it: what a connection
// carries, in order, and wake-ups. What is made of a connection is link.h's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "network.h"
#include "queueing/host.h"
#include "timeline.h"
#include "random.h"

namespace redlock::sim::queueing {

/// How far a process is from a server.
struct Distance {
  Time one_way = std::chrono::microseconds(200);
  Time jitter = std::chrono::microseconds(50);
};

class Process;

class Wire final : public Transport {
 public:
  struct Ends {
    Timeline* timeline;
    Random* random;
    Host* host;
    Process* process;
    Waiter waiter;
    Distance distance;
    bool may_subscribe;
  };

  explicit Wire(const Ends& ends) : ends_(ends) {}
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  /// One round trip. A server that is down refuses; one that is stopped does not.
  ConnectionId dial(std::uint8_t, std::uint8_t, std::uint32_t, bool) override;
  void send(ConnectionId id, Request request) override;
  void hang_up(ConnectionId id, bool orderly) override;

  /// Where it has not.
  void subscribe();
  /// It left the queue: it closes the subscription.
  void unsubscribe();
  /// A message that tells it to ask after that time.
  void wake(lock::Duration in);

  /// Nothing gets through until then. A connection that has been silent for long breaks.
  void cut(Time until, Time breaks_after);
  /// The process has ended, or was killed: the kernel closes its connections.
  void end();

 private:
  [[nodiscard]] Time travel() const;
  [[nodiscard]] Time arrival_here();
  void tell(ConnectionId id, Inbound inbound);

  Ends ends_;
  ConnectionId connection_ = 0;  ///< its number: what belongs to an earlier one is void
  bool connected_ = false;
  std::uint32_t subscription_ = 0;
  bool subscribes_ = false;
  std::uint32_t server_life_ = 0;
  std::uint32_t subscribed_life_ = 0;
  Time last_there_{};
  Time last_here_{};
  Time cut_until_{};
  bool ended_ = false;
};

}  // namespace redlock::sim::queueing
