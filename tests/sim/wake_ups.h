// SPDX-License-Identifier: MIT
//
// The channels on which servers wake waiters, in a world of faults: some subscribe late or never,
// some wake-ups come late or not at all.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include "timeline.h"
#include "random.h"
#include "schedule.h"
#include "token.h"

namespace redlock::sim {

class WakeUps {
 public:
  /// What the world knows, and those that are to hear of it.
  struct World {
    std::function<bool(std::uint32_t server)> is_up;
    std::function<void(std::uint32_t client, std::uint32_t session, std::uint32_t server)> subscribed;
    std::function<void(std::uint32_t client, std::uint32_t session, lock::Duration in)> woken;
  };
  WakeUps(Timeline& timeline, Random& random, World world)
      : timeline_(timeline), random_(random), world_(std::move(world)) {}

  void reset(const Schedule& schedule) {
    schedule_ = &schedule;
    for (auto& clients : subscribed_) clients.fill(0);
  }

  /// A process that waits for the lock subscribes where it has not done so, or tries to.
  void subscribe(std::uint32_t client, std::uint32_t session) {
    for (std::uint32_t server = 0; server < schedule_->servers; ++server) {
      if (subscribed_[server][client] == session || random_.percent(40)) continue;
      timeline_.after(delay(), [=, this] { arrive(client, session, server); });
    }
  }
  /// PUBLISH: true if somebody has subscribed.
  bool publish(std::uint32_t server, Waiter waiter, lock::Duration in) {
    const std::uint32_t client = client_of(waiter);
    const std::uint32_t session = session_of(waiter);
    if (subscribed_[server][client] != session) return false;
    if (random_.percent(20)) return true;  // and lost
    timeline_.after(delay(), [=, this] { world_.woken(client, session, in); });
    return true;
  }
  /// It has lost its connections.
  void server_down(std::uint32_t server) { subscribed_[server].fill(0); }
  void process_over(std::uint32_t client) {
    for (auto& clients : subscribed_) clients[client] = 0;
  }

 private:
  /// Its SUBSCRIBE has arrived. Later the process hears of that.
  void arrive(std::uint32_t client, std::uint32_t session, std::uint32_t server) {
    if (!world_.is_up(server)) return;
    subscribed_[server][client] = session;
    timeline_.after(delay(), [=, this] { world_.subscribed(client, session, server); });
  }
  [[nodiscard]] Time delay() {
    return random_.between(schedule_->delay_low, schedule_->delay_high);
  }

  Timeline& timeline_;
  Random& random_;
  World world_;
  const Schedule* schedule_ = nullptr;
  /// The sessions that have subscribed; 0: none.
  std::array<std::array<std::uint32_t, kMostClients>, kMostServers> subscribed_{};
};

}  // namespace redlock::sim
