// SPDX-License-Identifier: MIT
//
// The channels on which servers wake waiters, in a world of faults: some subscribe late or never,
// some wake-ups come late or not at all.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "events.h"
#include "random.h"
#include "schedule.h"
#include "token.h"

namespace redlock::sim {

class WakeUps {
 public:
  WakeUps(Events& events, Random& random) : events_(events), random_(random) {}

  void reset(const Schedule& schedule) {
    schedule_ = &schedule;
    for (auto& clients : subscribed_) clients.fill(0);
  }

  /// A process that waits for the lock subscribes where it has not done so, or tries to.
  void subscribe(std::uint32_t client, std::uint32_t session) {
    for (std::uint32_t server = 0; server < schedule_->servers; ++server) {
      if (subscribed_[server][client] == session || random_.percent(40)) continue;
      events_.add(EventKind::subscribes, events_.now() + delay(), client | server << 8U, session);
    }
  }
  /// Its SUBSCRIBE has arrived, or so long after that the process hears of it.
  void arrive(const Event& event, bool up) {
    if (!up) return;
    subscribed_[event.who >> 8U][event.who & 0xffU] = event.stamp;
    events_.add(EventKind::subscribed, events_.now() + delay(), event.who, event.stamp);
  }
  /// PUBLISH: true if somebody has subscribed.
  bool publish(std::uint32_t server, Waiter waiter, lock::Duration in) {
    const std::uint32_t client = client_of(waiter);
    const std::uint32_t session = session_of(waiter);
    if (subscribed_[server][client] != session) return false;
    if (random_.percent(20)) return true;  // and lost
    const auto told = static_cast<std::uint32_t>(in / std::chrono::milliseconds(1));
    events_.add(EventKind::woken, events_.now() + delay(), client | told << 8U, session);
    return true;
  }
  /// It has lost its connections.
  void server_down(std::uint32_t server) { subscribed_[server].fill(0); }
  void process_over(std::uint32_t client) {
    for (auto& clients : subscribed_) clients[client] = 0;
  }

 private:
  [[nodiscard]] Time delay() {
    return random_.between(schedule_->delay_low, schedule_->delay_high);
  }

  Events& events_;
  Random& random_;
  const Schedule* schedule_ = nullptr;
  /// The sessions that have subscribed; 0: none.
  std::array<std::array<std::uint32_t, kMostClients>, kMostServers> subscribed_{};
};

}  // namespace redlock::sim
