// SPDX-License-Identifier: MIT
//
// The machine that a server runs on: up, stopped or down. Its clock may be set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clock.h"
#include "network.h"
#include "server.h"

namespace redlock::sim::queueing {

class Host {
 public:
  Host(std::uint8_t index, Network& network) : index_(index), network_(&network) {}

  /// Answers.
  [[nodiscard]] bool working() const { return network_->is_up(index_); }
  /// The last time that it stopped, died, came back, or its clock was set.
  [[nodiscard]] Time trouble() const { return trouble_; }

  void stop() {
    trouble_ = now();
    network_->stop(index_);
  }
  void resume() {
    trouble_ = now();
    network_->go_on(index_);
  }
  void crash() {
    trouble_ = now();
    network_->crash(index_);
  }
  void come_back(Server::Restart how) {
    trouble_ = now();
    network_->come_back(index_);
    server_.restart(how, trouble_);
  }
  void set_clock_by(Time step) {
    trouble_ = now();
    server_.step_clock(step, trouble_);
  }

  /// Another program's.
  void set_foreign(std::int64_t ttl_ms) {
    server_.set_foreign(make_token(kForeigner, 1, 1), ttl_ms, now());
  }
  void delete_key() { server_.delete_lock(); }

  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] Server& server() { return server_; }
  [[nodiscard]] Token owner() const { return server_.owner(now()); }
  /// Of a shared lock, or one with slots.
  [[nodiscard]] std::vector<Token> holders() const { return server_.readers(now()); }

  std::size_t evals = 0;  ///< since measure_afresh()

 private:
  [[nodiscard]] Time now() const { return network_->timeline().now(); }

  std::uint8_t index_;
  Network* network_;
  Server server_;
  Time trouble_{};
};

}  // namespace redlock::sim::queueing
