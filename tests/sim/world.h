// SPDX-License-Identifier: MIT
//
// Runs one schedule from its seed to its end or its first violation. A world is used again and
// again, since its Lua has parsed the scripts.
//
// All locks of a schedule are on the same servers. A run with several locks (`run --also`) is a
// client for each lock, since each lock has a redlock of its own (run/stage.h): client_stages.cc
// makes each of them the job of the one before. Each lock has checks of its own.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "checks.h"
#include "client.h"
#include "clock.h"
#include "network.h"
#include "schedule.h"
#include "server.h"
#include "story.h"

namespace redlock::sim {

struct Result {
  std::optional<Violation> violation;
  std::uint64_t events = 0;
  std::uint64_t jobs = 0;
};

class World final : public NetworkUser {
 public:
  World() : network_(timeline_, random_, *this) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void look_only_for(std::string_view check) {
    for (Checks& each : checks_) each.look_only_for(check);
  }
  Result run(const Schedule& schedule, bool trace);
  [[nodiscard]] const std::string& story() const { return story_.text(); }

 private:
  /// `redlock release --force`, with --now or without: a bit for each server.
  struct Takeover {
    Token token;
    std::uint8_t lock = 0;             ///< of a shared lock, whose token is nobody's
    std::uint32_t untold_percent = 0;  ///< of the holders do not hear of it
    std::uint32_t revoked = 0;         ///< it was, or there was nothing any more
    std::uint32_t deleted = 0;         ///< likewise
    /// Of a shared lock, of which each server has a generation, the token stands for all readers.
    std::array<Token, kMostServers> values{};  ///< as they were seen
    std::vector<Token> readers{};              ///< or the one holder
  };

  void set_up();
  void set_up_server(std::size_t index, std::uint8_t lock);
  void begin(const Fault& fault);
  void end(const Fault& fault);
  void force(const Fault& fault);
  void revoke(std::size_t takeover, std::uint8_t server);
  void remove(std::size_t takeover, std::uint8_t server);
  void hand_back(const Fault& fault);
  void carry_out_release(Token token, std::uint8_t server);
  void check_kept(std::size_t server, const Request& request, const lock::Answer& answer);
  void forget_votes(std::uint8_t lock, std::uint8_t server);
  void respond(ConnectionId id, const Request& request, lock::Answer answer);
  void come_back(const Fault& fault);
  void isolate(std::uint8_t client, std::uint8_t servers, Time until);
  void suspend(std::size_t client, Time until);
  void step_clock(std::uint8_t index, Time by);
  void operate();
  void calm_down();
  Time delay(std::uint32_t client, std::uint8_t server) override;
  Time connects_after(std::uint32_t client, std::uint8_t server) override;
  void serve(ConnectionId id, const Request& request) override;
  void take_in(std::uint32_t client, std::uint8_t server, Inbound inbound) override {
    clients_[client].take_in(server, std::move(inbound));
  }
  void crashed(std::uint8_t server) override;
  void hung_up(ConnectionId id) override;
  void check_end();
  [[nodiscard]] bool all_done() const;
  [[nodiscard]] std::uint8_t real(std::uint8_t server) const {
    return schedule_->server[server].same_as;
  }
  [[nodiscard]] std::uint8_t lock_of(Token token) const {
    return schedule_->client[client_of(token)].lock;
  }
  /// As far as that lock goes.
  [[nodiscard]] Server& keys(std::uint8_t lock, std::size_t server) {
    return servers_[lock][server];
  }
  /// Of the lock of this token.
  [[nodiscard]] Server& keys_of(Token token, std::size_t server) {
    return keys(lock_of(token), server);
  }
  [[nodiscard]] Checks& checks_of(Token token) { return checks_[lock_of(token)]; }
  /// The server as all locks see it: what happens to all its data.
  template <class Each>
  void each_lock(std::size_t server, Each each) {
    for (std::uint8_t lock = 0; lock < schedule_->locks; ++lock) each(keys(lock, server));
  }
  [[nodiscard]] std::optional<Violation> violation() const;
  [[nodiscard]] bool is_up(std::uint8_t server) const { return network_.is_up(server); }
  /// Both addresses of a server that has two.
  template <class Each>
  void each_address(std::uint8_t server, Each each);

  /// A lock that a server has, and will have when its owner's release gets there.
  struct Owed {
    Token token;
    std::uint8_t server;
    std::uint32_t memory;  ///< the server's
    Time at;
  };

  [[nodiscard]] bool is_quorum(std::uint32_t servers) const;

  const Schedule* schedule_ = nullptr;
  std::vector<Owed> owed_;
  std::vector<Takeover> takeovers_;
  Timeline timeline_;
  Random random_{0};
  Random random_ends_{0};
  std::array<Checks, kMostLocks> checks_;
  Story story_;
  Scene scene_{};
  Network network_;
  Interpreter interpreter_;
  /// A server is one for each lock, since no request touches two of them.
  std::array<std::array<Server, kMostServers>, kMostLocks> servers_;
  std::deque<Client> clients_;
};

}  // namespace redlock::sim
