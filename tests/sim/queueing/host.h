// SPDX-License-Identifier: MIT
//
// The machine that a server runs on: up, stopped or down. Its clock may be set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "clock.h"
#include "server.h"

namespace redlock::sim::queueing {

/// How many EVALs a request is.
std::size_t scripts_of(const Request& request);

class World;

class Host {
 public:
  void begin(std::size_t index, World& world, Timeline& timeline, const LockSettings& settings,
             Interpreter& interpreter);

  /// A request has arrived. `answer` gets the response when the server has carried it out, which is
  /// later if it is stopped, and never if it goes down before.
  void take(const Request& request, std::function<void(const lock::Answer&)> answer);

  /// Another one after each crash: connections from before are gone.
  [[nodiscard]] std::uint32_t life() const { return life_; }
  [[nodiscard]] bool up() const { return up_; }
  /// Answers.
  [[nodiscard]] bool working() const { return up_ && !stopped_; }
  /// The last time that it stopped, died, came back, or its clock was set.
  [[nodiscard]] Time trouble() const { return trouble_; }

  void stop() {
    stopped_ = true;
    trouble_ = timeline_->now();
  }
  void resume();
  void crash();
  void come_back(Server::Restart how);
  void set_clock_by(Time step);

  /// Another program's.
  void set_foreign(std::int64_t ttl_ms) {
    server_.set_foreign(make_token(kForeigner, 1, 1), ttl_ms, timeline_->now());
  }
  void delete_key() { server_.delete_lock(); }

  void subscribe(Waiter waiter) { subscribers_.insert(waiter); }
  void unsubscribe(Waiter waiter) { subscribers_.erase(waiter); }

  /// Since the last forget_evals().
  [[nodiscard]] std::size_t evals() const { return evals_; }
  void forget_evals() { evals_ = 0; }
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] Server& server() { return server_; }
  [[nodiscard]] Token owner() const { return server_.owner(timeline_->now()); }
  /// Of a shared lock, or one with slots.
  [[nodiscard]] std::vector<Token> holders() const { return server_.readers(timeline_->now()); }

 private:
  struct Arrived {
    Request request;
    std::function<void(const lock::Answer&)> answer;
  };

  std::size_t index_ = 0;
  World* world_ = nullptr;
  Timeline* timeline_ = nullptr;
  Server server_;
  std::set<Waiter> subscribers_;
  std::vector<Arrived> arrived_;  ///< while it is stopped
  std::size_t evals_ = 0;
  std::uint32_t life_ = 1;
  Time trouble_{};
  bool up_ = true;
  bool stopped_ = false;
};

}  // namespace redlock::sim::queueing
