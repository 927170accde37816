// SPDX-License-Identifier: MIT
//
// Servers, processes that wait for one lock on them, and what is measured of the hand-overs. Knows
// everything: true time, what every server holds, and who waits. Absent on purpose: random faults
// and the safety of single steps, which are the other simulator's (../world.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "clock.h"
#include "queueing/host.h"
#include "queueing/process.h"
#include "random.h"

namespace redlock::sim::queueing {

struct Settings {
  std::size_t servers = 3;
  lock::Duration ttl = std::chrono::seconds(10);
  lock::Duration timeout = std::chrono::milliseconds(200);
  std::uint32_t publishes_lost = 0;  ///< per cent
  std::uint64_t seed = 1;
};

/// What is measured.
struct Numbers {
  std::size_t jobs = 0;  ///< that were started
  /// Jobs that were started beside one that excludes them. Readers may run together, and jobs that
  /// have different slots.
  std::size_t two_at_once = 0;
  std::size_t inversions = 0;  ///< pairs: a later process was served first
  /// How many others overtook one process, at most, while it was in the queue of a quorum.
  std::size_t most_overtaken = 0;
  std::size_t never_served = 0;
  std::size_t left_behind = 0;      ///< entries of processes that have ended, in queues
  std::size_t needless_losses = 0;  ///< jobs stopped though a quorum held their lock all the time
  std::size_t unsaid = 0;    ///< locks of processes that ended well, which these did not speak of
  std::size_t for_ever = 0;  ///< keys that never expire
  std::size_t lies =
      0;  ///< processes that ended as if somebody else had the lock, or nobody answered
  std::size_t most_asked = 0;  ///< requests of one process to one server within a second
  std::size_t slow = 0;        ///< hand-overs of more than 400 ms
  Time longest_wait{};         ///< of a process that begins only once
  Time longest_stuck{};        ///< nobody got it, though somebody that waited could have won
  Time longest_stall{};        ///< of a free lock, or a free slot, while somebody waited
  std::size_t evals = 0;       ///< on all servers, but not those of idle waiters
  std::size_t idle_evals = 0;  ///< of waiters that are not among the first two
  Time waited{};               ///< the sum over all waiters
};

class World final : public NetworkUser {
 public:
  explicit World(const Settings& settings);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// A process that begins now.
  Process& start(const ProcessPlan& plan);
  void start_at(Time when, const ProcessPlan& plan);
  void at(Time when, std::function<void()> what) { timeline_.at(when, std::move(what)); }

  void run_until(Time end) { timeline_.run_until(end); }
  /// Runs on until nobody waits who could be served, or until then.
  void run_until_all_served(Time end);
  /// No run begins any more because another one has ended.
  void end_loops() { loops_ = false; }

  /// The waiters that can be served, in the order of the first server's queue.
  [[nodiscard]] std::vector<Process*> queue();
  [[nodiscard]] Process* holder() { return running_.empty() ? nullptr : running_.front(); }
  [[nodiscard]] const std::vector<std::unique_ptr<Process>>& processes() const {
    return processes_;
  }
  [[nodiscard]] std::vector<Host>& hosts() { return hosts_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] Time now() const { return timeline_.now(); }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const LockSettings& lock_settings() const { return lock_settings_; }
  /// From now on.
  void measure_afresh();
  [[nodiscard]] const Numbers& numbers();
  [[nodiscard]] std::size_t jobs() const { return numbers_.jobs; }

  // What a process and its redlock tell.
  void job_started(Process& process);
  void job_ended(Process& process);
  /// Its redlock takes the lock for lost.
  void job_stopped(Process& process);
  void ended(Process& process);

 private:
  Time delay(std::uint32_t process, std::uint8_t server) override {
    return processes_[process]->travel(server);
  }
  void serve(ConnectionId id, const Request& request) override;
  void crashed(std::uint8_t server) override {
    for (const auto& each : processes_) each->disconnect(server);
  }
  void take_in(std::uint32_t process, std::uint8_t server, Inbound inbound) override {
    processes_[process]->take_in(server, std::move(inbound));
  }
  [[nodiscard]] bool can_be_served(const Process& process) const;
  [[nodiscard]] bool is_free();
  [[nodiscard]] bool is_free(const ServerList& list);
  [[nodiscard]] bool is_free_on(const Host& host);
  [[nodiscard]] bool has_room();
  [[nodiscard]] bool can_enter(const Process& process, const Host& host);
  [[nodiscard]] bool somebody_could_win();
  void watch_progress();
  void judge_end(const Process& process);
  void count_left();
  [[nodiscard]] Process* owner_of(Token token);
  void look_whether_free();
  void watch();
  [[nodiscard]] static Time can_win_since(const Process& process);
  void note_hand_over(const Process& process);
  void note_inversions(const Process& process);
  void count_waiting();

  Settings settings_;
  LockSettings lock_settings_;
  Timeline timeline_;
  Random random_;
  Network network_;
  Interpreter interpreter_;
  std::vector<Host> hosts_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::set<ServerList> lists_;  ///< of all processes
  std::vector<Process*> waiting_;
  std::vector<Process*> running_;  ///< one, or several that may run together
  std::optional<Time> free_since_{Time::zero()};
  std::optional<Time> stuck_since_;
  bool watching_ = false;
  bool watching_progress_ = false;
  bool loops_ = true;
  std::size_t coming_ = 0;  ///< processes that begin later
  Time counted_until_{};
  Numbers numbers_;
};

}  // namespace redlock::sim::queueing
