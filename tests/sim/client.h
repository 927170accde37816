// SPDX-License-Identifier: MIT
//
// A host with `redlock run` on it: the loop of a run around a real lock::Session, driven by the
// same lock::Drive, and the job. A client runs redlock again and again, each time as a new process
// and a new contender.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "checks.h"
#include "clock.h"
#include "link.h"
#include "lock/drive.h"
#include "lock/keeping.h"
#include "lock/session.h"
#include "network.h"
#include "redis/requests/request.h"
#include "request.h"
#include "story.h"

namespace redlock::sim {

class Client;

/// What all clients share.
struct Scene {
  const Schedule* schedule;
  Timeline* timeline;
  Network* network;
  Random* random;
  Random* ends;    ///< of how jobs end, where jobs_leave
  Checks* checks;  ///< of each lock
  Story* story;
  LockSettings settings;
  Mutation mutation = Mutation::none;
  bool calm = false;  ///< the fair phase
  std::array<Time, kMostServers + 1>
      last_used{};  ///< the lists with this many servers, by redlocks that ended
  std::deque<Client>* clients = nullptr;
  /// Whether a quorum of servers has the client's lock of this token, without those of which it
  /// cannot know it: they may have put the key back, or their last answer was lost.
  std::function<bool(std::size_t client, Token token)> is_held;
  std::function<bool(std::uint8_t server)> is_up;
};

class Client final : public lock::Performer {
 public:
  Client(Scene& scene, std::size_t index);

  void start();
  void turn();
  void take_in(std::size_t server, Inbound inbound);
  void signal();
  /// Its lock was revoked.
  void told(std::uint32_t session) {
    hear(session, [this] { told_ = true; });
  }
  /// PUBLISH to a waiter of this client: whether it has subscribed. Some messages come late or not
  /// at all.
  bool publish(std::uint8_t server, std::uint32_t session, lock::Duration in);
  /// That server has lost its connections.
  void unsubscribe(std::uint8_t server) { listens_[server] = 0; }
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
  [[nodiscard]] bool running() const { return session_.has_value(); }
  /// The number of servers in its list.
  [[nodiscard]] std::size_t servers() const { return servers_; }
  [[nodiscard]] std::uint32_t run() const { return runs_ & 0x3ffU; }

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
  void end_stage(int status, std::optional<lock::Outcome::Kind> end);
  void end_before_start(int signal);
  void end_locked();
  void kill_next();
  void plan(lock::Plan& plan);
  void run_turn(lock::Instant now);
  void finish_turn(lock::Instant now);
  void step(lock::Event event, lock::Instant now);
  void perform(const lock::Effect& effect, lock::Instant now) override;
  /// The list of servers of the redlock that starts now; 0: the roll-out has to wait.
  [[nodiscard]] std::size_t choose_list() const;
  void hang_up(bool orderly);
  void check_loss();
  void begin_keeping(const lock::Spawn& order);
  void lose_ward(lock::Instant now);
  void warn_ward();
  void queue(lock::Ticket ticket);
  void subscribe();
  /// Word from a server to that run.
  template <class Note>
  void hear(std::uint32_t session, Note note) {
    if (!session_ || session != run()) return;
    note();
    turn();
  }
  void woken(std::uint32_t session, lock::Duration in) {
    hear(session, [&] { woken_ = std::min(in, woken_.value_or(in)); });
  }
  void leave_queue(lock::ServerIndex server);
  void ask(const lock::Ask& ask, lock::Instant now);
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
  void end_session();
  void end_keeping();
  void start_later();
  void schedule_wake();
  void say(std::string_view what);
  void say_reply(const lock::Reply& reply);
  [[nodiscard]] Time now() const { return scene_->timeline->now(); }
  [[nodiscard]] Random& random() const { return *scene_->random; }
  /// Of a message that is no request and no answer to one.
  [[nodiscard]] Time delay() const {
    return random().between(scene_->schedule->delay_low, scene_->schedule->delay_high);
  }
  [[nodiscard]] const ClientHost& host() const { return scene_->schedule->client[index_]; }
  [[nodiscard]] Checks& checks() const { return scene_->checks[host().lock]; }

  Scene* scene_ = nullptr;
  std::uint8_t index_ = 0;
  Clock clock_;
  std::uint32_t runs_ = 0;
  bool starting_ = false;
  std::size_t servers_ = 0;  ///< of this redlock's list: the first ones
  Inherited inherited_;
  AttemptTokens tokens_;
  redis::LockContext context_;
  bool served_ = false;                 ///< in the fair phase
  std::optional<lock::Duration> wait_;  ///< of all stages of the run, if this is the first one
  lock::Instant limit_ = lock::kNever;  ///< likewise
  lock::Instant began_{};               ///< this stage
  std::optional<lock::Session> session_;
  std::optional<lock::Keeping> keeping_;  ///< if its lock is kept for a ward
  std::optional<lock::Drive> drive_;
  Token kept_ = kNoToken;  ///< that lock
  bool word_ = false;
  bool warned_ = false;
  std::array<Link, kMostServers> links_;
  std::vector<Link::Arrival> arrivals_;
  std::size_t next_arrival_ = 0;
  Job job_;
  bool signalled_ = false;
  bool told_ = false;
  std::optional<lock::Duration> woken_;  ///< in how long it shall ask
  std::uint32_t subscribed_ = 0;  ///< the loop has not heard of it yet: a bit for each server
  std::array<std::uint32_t, kMostServers>
      listens_{};  ///< there this session has subscribed; 0: none
  bool queues_ = false;
  bool mark_missing_ = false;  ///< told: fewer than a quorum know of its success
  bool holds_ = false;         ///< told: its run failed, and a quorum keeps the hold
  bool hold_missing_ = false;  ///< told: likewise, and none does
  bool paused_ = false;
  bool frozen_ = false;  ///< the host is suspended
  Time paused_at_{};
  std::optional<lock::Instant> stale_;  ///< the loop had read its clock before it was stopped
  std::optional<lock::Spawn> stalled_;  ///< stopped in the middle of starting the job
  Time wake_at_ = kForever;
  Time last_turn_{};
  std::uint32_t turns_at_once_ = 0;
};

}  // namespace redlock::sim
