// SPDX-License-Identifier: MIT
//
// A `redlock run`: the real lock::Session, driven by the same lock::Drive, with a job that takes a
// given time; and its ways to the servers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "clock.h"
#include "link.h"
#include "lock/drive.h"
#include "lock/session.h"
#include "network.h"
#include "queueing/host.h"
#include "request.h"

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
class Process;

/// The way to a server, as long as it is, and what comes along it: what a connection carries, in
/// order, and wake-ups. link.h has the connections.
class Wire final : public Transport {
 public:
  /// `index`: of the server in the process's list.
  Wire(Process& process, std::size_t index, Host& host, const Distance& distance)
      : process_(process), index_(index), host_(host), distance_(distance) {}
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  /// One round trip. A server that is down refuses; one that is stopped does not.
  ConnectionId dial(std::uint32_t, std::uint8_t, std::uint32_t, bool) override;
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
  [[nodiscard]] Timeline& timeline() const;
  [[nodiscard]] Time travel() const;
  [[nodiscard]] Time arrival_here();
  void tell(ConnectionId id, Inbound inbound);

  Process& process_;
  std::size_t index_;
  Host& host_;
  Distance distance_;
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

class Process final : public lock::Performer {
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
    frozen_ = true;
    notes.hindered_until = kForever;
  }
  void resume();
  /// SIGKILL, of its job too.
  void kill();
  /// It reaches that server of the world no more until then.
  void cut(std::size_t server, Time until);
  void wake(std::size_t server, lock::Duration in) { wires_[server - list_.first]->wake(in); }

  /// What it hears over its wires. Of `server`: its index in the list.
  void received(std::size_t server, Inbound inbound);
  void woken(lock::Duration in) { take(lock::Woken{in}); }
  void subscribed(lock::ServerIndex server) { take(lock::Subscribed{server}); }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] std::optional<lock::Outcome::Kind> outcome() const { return outcome_; }
  [[nodiscard]] bool alive() const { return session_ != nullptr; }
  [[nodiscard]] bool waits() const { return state_ == State::waiting; }
  [[nodiscard]] bool ran() const {
    return state_ == State::running || state_ == State::releasing || state_ == State::served;
  }
  [[nodiscard]] bool frozen() const { return frozen_; }
  [[nodiscard]] const ProcessPlan& plan() const { return plan_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] Waiter waiter() const { return waiter_; }
  [[nodiscard]] Token token() const { return token_; }
  [[nodiscard]] Time began() const { return began_; }
  [[nodiscard]] Time job_began() const { return job_began_; }
  [[nodiscard]] std::size_t most_asked() const { return most_asked_; }
  [[nodiscard]] const ServerList& list() const { return list_; }
  /// `server`: of the world.
  [[nodiscard]] bool reaches(std::size_t server) const {
    return list_.contains(server) && cut_until_[server - list_.first] <= now_();
  }
  [[nodiscard]] World& world() const { return world_; }
  /// It said that this server of the world may keep the lock, and until when.
  [[nodiscard]] Time keeps_until(std::size_t server) const {
    return list_.contains(server) ? keeps_until_[server - list_.first] : Time::zero();
  }

  /// What the world knows of it.
  struct Notes {
    std::uint32_t in_queue = 0;     ///< a bit for each server that has put it into its queue
    std::optional<Time> queued_at;  ///< since then a quorum has
    Time hindered_until{};          ///< it was stopped or cut off
    std::uint32_t overtaken = 0;
  };
  Notes notes;

 private:
  void take(lock::Event event);
  void turn();
  void read_answers();
  void step(lock::Event event);
  void perform(const lock::Effect& effect, lock::Instant now) override;
  void spawn(const lock::Spawn& order);
  void job_over();
  void stop_job();
  void after_turn();
  void finish(State state);
  void count_request();
  void note_left(const lock::report::ReleaseUnconfirmed& report);
  [[nodiscard]] Time now_() const;
  [[nodiscard]] lock::Instant now() const { return lock::Instant(now_()); }

  World& world_;
  ProcessPlan plan_;
  ServerList list_;
  std::uint32_t number_;
  Waiter waiter_;
  AttemptTokens tokens_;
  redis::LockContext context_;
  Token token_ = kNoToken;
  Time began_{};
  Time job_began_{};
  State state_ = State::waiting;
  std::optional<lock::Outcome::Kind> outcome_;
  bool frozen_ = false;
  bool job_runs_ = false;
  std::unique_ptr<lock::Session> session_;
  std::unique_ptr<lock::Drive> drive_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::vector<Link> links_;
  std::vector<lock::Event> events_;  ///< the loop has not heard of them yet
  Time wakes_at_ = kForever;
  std::vector<Time> asked_at_;  ///< the first server, within the last second
  std::size_t most_asked_ = 0;
  std::vector<Time> cut_until_;
  std::vector<Time> keeps_until_;
};

}  // namespace redlock::sim::queueing
