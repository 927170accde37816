// SPDX-License-Identifier: MIT
//
// A process with `redlock run` whose job takes a given time, and its distance from the servers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "clock.h"
#include "lock/session.h"
#include "request.h"
#include "run.h"

namespace redlock::sim::queueing {

/// How far a process is from a server.
struct Distance {
  Time one_way = std::chrono::microseconds(200);
  Time jitter = std::chrono::microseconds(50);
};

/// The servers that a process knows: this many of the world's, from one on.
struct ServerList {
  std::size_t first = 0;
  std::size_t count = 0;

  auto operator<=>(const ServerList&) const = default;
  [[nodiscard]] bool contains(std::size_t server) const {
    return server >= first && server < first + count;
  }
  [[nodiscard]] std::size_t quorum() const { return lock::quorum(count); }
};

struct ProcessPlan {
  Distance distance{};                   ///< from every server
  std::vector<Time> farther{};           ///< by server: one way, in addition
  bool tries_once = false;               ///< -n
  std::optional<lock::Duration> wait{};  ///< -w
  std::int64_t restart_grace_s = 0;
  Mode mode{};  ///< -s, --slots
  bool may_subscribe = true;
  Time job = std::chrono::milliseconds(20);
  lock::Duration min_hold{};
  bool newest = false;                   ///< --newest
  std::optional<std::uint64_t> build{};  ///< --build
  bool replaces = false;                 ///< --replace
  bool loops = false;                    ///< the next run begins when this one has ended
  /// As it is when the run begins; none: all servers.
  const ServerList* list = nullptr;
};

/// A waiter that was stopped or cut off comes back to its place when it has asked again.
inline constexpr Time kComesBack = std::chrono::seconds(6);

class World;

class Process final : public Run {
 public:
  enum class State : std::uint8_t {
    waiting,
    running,
    releasing,
    served,
    refused,
    superseded,
    killed,
    failed
  };

  Process(World& world, const ProcessPlan& plan, std::uint32_t number);

  /// Its first turn.
  void start();
  /// SIGSTOP, while it waits.
  void freeze() {
    paused_ = true;
    notes.hindered_until = kForever;
  }
  void resume();
  /// SIGKILL, of its job too.
  void kill();
  /// It reaches that server no more until then.
  void cut(std::size_t server, Time until);
  /// That server has lost its connections.
  void disconnect(std::uint8_t server) {
    unsubscribe(server);
    not_subscribed(server);
  }
  /// Of a packet to that server, or from it.
  [[nodiscard]] Time travel(std::uint8_t server) const;

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] std::optional<lock::Outcome::Kind> outcome() const { return outcome_; }
  [[nodiscard]] bool alive() const { return running(); }
  [[nodiscard]] bool waits() const { return state_ == State::waiting; }
  [[nodiscard]] bool ran() const {
    return state_ == State::running || state_ == State::releasing || state_ == State::served;
  }
  [[nodiscard]] bool frozen() const { return paused_; }
  [[nodiscard]] const ProcessPlan& plan() const { return plan_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] Waiter waiter() const { return waiter_; }
  [[nodiscard]] Token token() const { return token_; }
  [[nodiscard]] Time began() const { return began_; }
  [[nodiscard]] Time job_began() const { return job_began_; }
  [[nodiscard]] std::size_t most_asked() const { return most_asked_; }
  [[nodiscard]] const ServerList& list() const { return list_; }
  [[nodiscard]] bool reaches(std::size_t server) const {
    return list_.contains(server) &&
           network().held_until(number_, static_cast<std::uint8_t>(server)) <= now();
  }
  /// It said that this server may keep the lock, and until when.
  [[nodiscard]] Time keeps_until(std::size_t server) const { return keeps_until_[server]; }

  /// What the world knows of it.
  struct Notes {
    std::uint32_t in_queue = 0;     ///< a bit for each server that has put it into its queue
    std::optional<Time> queued_at;  ///< since then a quorum has
    Time hindered_until{};          ///< it was stopped or cut off
    std::uint32_t overtaken = 0;
  };
  Notes notes;

 private:
  void hear_process(lock::Instant local) override;
  void asked(const lock::Ask& ask, lock::Instant) override;
  void perform(const lock::Effect& effect, lock::Instant local) override;
  void end_session() override;
  std::optional<Time> subscribes_in(std::uint8_t server) override;
  void not_subscribed(std::uint8_t server) override { subscribes_ &= ~(1U << server); }
  Time message_delay(std::uint8_t server) override;
  bool loses_message(std::uint8_t server) override;
  void spawn(const lock::Spawn& order, lock::Instant local);
  void job_over();
  void stop_job(lock::Instant local);
  void finish(State state);

  World& world_;
  ProcessPlan plan_;
  ServerList list_;
  std::uint32_t number_;
  Waiter waiter_;
  Token token_ = kNoToken;
  Time began_{};
  Time job_began_{};
  State state_ = State::waiting;
  std::optional<lock::Outcome::Kind> outcome_;
  bool job_runs_ = false;
  bool exited_ = false;           ///< the job; the loop has not heard of it yet
  std::uint32_t subscribes_ = 0;  ///< or tries to: a bit for each server
  std::vector<Time> asked_at_;    ///< the first server, within the last second
  std::size_t most_asked_ = 0;
  std::array<Time, kMostServers> keeps_until_{};
};

}  // namespace redlock::sim::queueing
