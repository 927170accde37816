// SPDX-License-Identifier: MIT
//
// A host with `redlock run` on it, and the job. A client runs redlock again and again, each time as
// a new process and a new contender.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "checks.h"
#include "clock.h"
#include "lock/keeping.h"
#include "lock/session.h"
#include "network.h"
#include "request.h"
#include "run.h"
#include "story.h"

namespace redlock::sim {

class Client;

/// What all clients share.
struct Scene {
  const Schedule* schedule;
  Network* network;
  Random* ends;    ///< of how jobs end, where jobs_leave
  Checks* checks;  ///< of each lock
  Story* story;
  LockSettings settings;
  bool calm = false;  ///< the fair phase
  std::array<Time, kMostServers + 1>
      last_used{};  ///< the lists with this many servers, by redlocks that ended
  std::deque<Client>* clients = nullptr;
  /// Whether a quorum of servers has the client's lock of this token, without those of which it
  /// cannot know it: they may have put the key back, or their last answer was lost.
  std::function<bool(std::size_t client, Token token)> is_held;
};

class Client final : public Run {
 public:
  Client(Scene& scene, std::size_t index);

  void start();
  void signal();
  /// Its lock was revoked.
  void told(std::uint32_t session) {
    hear(session, [this] { told_ = true; });
  }
  void hear_released(std::uint32_t session) {
    hear(session, [this] { word_ = true; });
  }
  /// Whose it is: the ward's, which lives.
  [[nodiscard]] bool keeps(Token token) const;
  /// SIGSTOP, or a suspend of the whole host, until resume().
  void pause(bool whole_host);
  void resume();
  /// SIGKILL; the job dies with it.
  void kill();
  /// The fair phase: wait without a limit, end soon, and be done once served.
  void calm_down();

  [[nodiscard]] bool done() const { return !session_ && !starting_; }

 private:
  struct Job {
    bool leader = false;   ///< its main process lives
    bool tree = false;     ///< something of it does
    bool killed = false;   ///< the KILL is on its way
    bool lingers = false;  ///< descendants survive the leader, some until the KILL
    bool exited = false;   ///< the loop has not heard of it yet
    bool told = false;     ///< redlock has passed a TERM on to it
    std::uint32_t stamp = 0;
    int status = 0;
    lock::JobEnd end = lock::JobEnd::by_itself;
  };

  /// The lock of the job that this client runs in.
  struct Inherited {
    Token token = kNoToken;
    std::uint64_t fence = 0;
  };

  [[nodiscard]] bool is_inside() const;
  template <class Each>
  void each_inside(Each each) const;
  void start_inside(const Inherited& lock) const;
  [[nodiscard]] bool inside_alive() const;
  void kill_inside() const;
  /// Of a run with several locks; null: this is the last one.
  [[nodiscard]] Client* next_stage() const;
  [[nodiscard]] Client& first_stage() const;
  [[nodiscard]] bool has_stages() const;
  [[nodiscard]] bool host_is_frozen() const;
  void plan_stage(lock::Plan& plan);
  void start_next(Client& next);
  void check_stages();
  void check_patience();
  void check_tree();
  void pass_on_term();
  void end_stage(int status);
  void end_before_start(int signal);
  void kill_next();
  void plan(lock::Plan& plan);
  void hear_process(lock::Instant now) override;
  void hear_rest(lock::Instant now) override;
  void perform(const lock::Effect& effect, lock::Instant now) override;
  /// The list of servers of the redlock that starts now; 0: the roll-out has to wait.
  [[nodiscard]] std::size_t choose_list() const;
  void leave(bool orderly);
  void check_loss();
  void begin_keeping(const lock::Spawn& order);
  void queue();
  std::optional<Time> subscribes_in(std::uint8_t server) override;
  Time message_delay(std::uint8_t) override { return delay(); }
  bool loses_message(std::uint8_t) override { return random().percent(20); }
  void asked(const lock::Ask& ask, lock::Instant now) override;
  void answered(const lock::Reply& reply) override;
  void spawn(const lock::Spawn& order, lock::Instant now);
  void spawn_now(const lock::Spawn& order, lock::Instant now);
  void start_at(Time when);
  void kill_job(int number);
  /// If no other one has begun by then.
  void end_job_at(Time when);
  void end_tree_at(Time when);
  void job_ends();
  [[nodiscard]] lock::JobEnd end_of_job() const;
  void tree_ends();
  void job_over();
  void end_session() override;
  void turns_without_end() override;
  void end_keeping();
  void start_later();
  void say(std::string_view what);
  void say_reply(const lock::Reply& reply);
  /// Of a message that is no request and no answer to one.
  [[nodiscard]] Time delay() const {
    return random().between(scene_->schedule->delay_low, scene_->schedule->delay_high);
  }
  [[nodiscard]] const ClientHost& host() const { return scene_->schedule->client[index_]; }
  [[nodiscard]] Checks& checks() const { return scene_->checks[host().lock]; }

  Scene* scene_ = nullptr;
  std::uint8_t index_ = 0;
  bool starting_ = false;
  std::size_t list_ = 0;  ///< the number of servers in its list: the first ones; 0: it has to wait
  Inherited inherited_;
  bool served_ = false;                   ///< in the fair phase
  std::optional<lock::Duration> wait_;    ///< of all stages of the run, if this is the first one
  lock::Instant limit_ = lock::kNever;    ///< likewise
  lock::Instant began_{};                 ///< this stage
  std::optional<lock::Keeping> keeping_;  ///< if its lock is kept for a ward
  Token kept_ = kNoToken;                 ///< that lock
  bool word_ = false;
  bool warned_ = false;
  Job job_;
  bool signalled_ = false;
  bool told_ = false;
  bool queues_ = false;
  bool mark_missing_ = false;           ///< told: fewer than a quorum know of its success
  bool holds_ = false;                  ///< told: its run failed, and a quorum keeps the hold
  bool hold_missing_ = false;           ///< told: likewise, and none does
  bool frozen_ = false;                 ///< the host is suspended
  std::optional<lock::Instant> stale_;  ///< the loop had read its clock before it was stopped
  std::optional<lock::Spawn> stalled_;  ///< stopped in the middle of starting the job
};

}  // namespace redlock::sim
