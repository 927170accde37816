// SPDX-License-Identifier: MIT
//
// A whole run of redlock, with servers that answer what honest servers answer, until the input
// changes it. An honest server may be slow, stand still, or end a connection; a liar may do
// anything. All that happens is a function of the input: the clock is this file's, and so are the
// random numbers.
//
// However many lie, the job runs only while a quorum grants the lock: honest servers that have the
// token, and liars that have said so. And a run comes to an end.
#include <sys/random.h>

#include <array>

#include "driver/progress.h"
#include "driver/setup.h"
#include "fuzz.h"
#include "lock/session.h"
#include "lock/value.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "played_server.h"
#include "redis/requests/answer.h"

namespace redlock::fuzz {

using namespace std::chrono_literals;
using lock::Instant;

namespace {

constexpr std::size_t kMostServers = 5;

std::uint64_t random_state = 0;

std::array<PlayedServer, kMostServers>& all_servers() {
  static std::array<PlayedServer, kMostServers> all;
  return all;
}

/// The settings of the run, and what it meets.
struct Scene {
  explicit Scene(Bytes& input) {
    servers = std::array<std::size_t, 4>{3, 1, 5, 3}[input.below(4)];
    liars = input.byte();
    const unsigned mode = input.below(10);
    settings.ttl = std::array<std::chrono::milliseconds, 3>{3s, 1s, 30s}[input.below(3)];
    const unsigned patience = input.byte();
    settings.wait = patience % 8 == 7 ? 0ms : (patience % 8 + 1) * 1s;
    settings.server_wait = 3s;
    job_length = input.byte() * 40ms;
    taken_for = input.byte() * 40ms;
    const unsigned flags = input.byte();
    obeys = (flags & 1U) == 0;
    knows_scripts = (flags & 2U) != 0;
    up_s = (flags & 4U) != 0 ? 5 : 100'000;
    lingers = (flags & 8U) != 0;
    fails_to_start = (flags & 0xf0U) == 0xf0U;
    if ((flags & 16U) != 0) settings.max_runtime = 2s;
    settings.wait_all = (flags & 32U) != 0;
    signal_at = input.byte() * 100ms;
    settings.shared = mode == 1;
    settings.slots = mode == 2 ? 3 : 0;
    if (mode == 3) settings.build = 7;
    settings.newest = mode == 4;
    settings.once = mode == 5 ? 10s : 0s;
    settings.min_hold = mode == 6 ? 2s : 0s;
    settings.replaces = mode == 7;
    settings.replicas = mode == 8 ? 1 : 0;
    settings.hold_on_failure = mode == 9 ? 2s : 0s;
    settings.verbose = (flags & 64U) != 0 ? 2 : 1;
    for (std::size_t i = 0; i < servers; ++i) {
      const bool lies = (liars >> i & 1U) != 0;
      all_servers()[i].begin(i, lies, knows_scripts, up_s);
      settings.servers.push_back(all_servers()[i].endpoint());
      if (taken_for <= 0ms) continue;
      all_servers()[i].keys().put("L", sim::Keyspace::Type::string, std::string(40, 'd'),
                                  kStartMs + taken_for / 1ms);
    }
  }

  std::size_t servers;
  unsigned liars;
  config::Settings settings;
  lock::Duration job_length;
  lock::Duration taken_for;  ///< another process has the lock; zero: it is free
  bool obeys;                ///< the job, a TERM
  bool knows_scripts;
  std::int64_t up_s;
  bool lingers;  ///< a descendant of the job outlives it
  bool fails_to_start;
  lock::Duration signal_at;  ///< redlock gets TERM; zero: it does not
};

/// The loop of driver/driver.h, with a clock of its own.
class Game final : private lock::Performer {
 public:
  explicit Game(std::string_view input)
      : script_(input),
        scene_(script_),
        lock_(driver::lock_id(scene_.settings, "L")),
        who_(driver::describe_ourselves(scene_.settings, {"job"})),
        session_(plan(), now_),
        drive_(session_, *this),
        servers_(driver::open_servers(scene_.settings, lock_, scene_.settings.ttl,
                                      driver::record_of(who_))),
        reporter_(driver::reporter_for(scene_.settings, "L", out_)) {}

  void play() {
    const bool calm = script_.empty();
    drive_.step(lock::Tick{}, now_);
    for (int turns = 0; !session_.finished(); ++turns) {
      require(turns < 50'000, "a run does not turn for ever");
      require(now_ < kStart + 5min, "a run comes to an end");
      turn();
    }
    require(!job_, "no job outlives its run");
    turn_servers();
    const bool holds = scene_.settings.hold_on_failure > 0s;
    for (std::size_t i = 0; calm && token_ && i < scene_.servers; ++i) {
      require(all_servers()[i].lies() || all_servers()[i].has(*token_, now_) == holds,
              "where nothing goes wrong, no server keeps the lock, but after a failure");
    }
  }

 private:
  lock::Plan plan() {
    lock::Plan plan = driver::plan_for(scene_.settings);
    plan.seed = 42;
    return plan;
  }

  bool turn_servers() {
    bool moved = false;
    for (std::size_t i = 0; i < scene_.servers; ++i) {
      moved = all_servers()[i].turn(now_, script_) || moved;
    }
    return moved;
  }

  void turn() {
    const bool moved = turn_servers();
    if (!moved) pass_time();
    drive_.step(lock::Tick{}, now_);
    if (scene_.signal_at > 0s && !signalled_ && now_ >= kStart + scene_.signal_at) {
      signalled_ = true;
      if (job_)
        end_job_by(SIGTERM);
      else if (!session_.finished())
        drive_.step(lock::Signal{SIGTERM, true}, now_);
    }
    poll_job();
    take_replies();
    check_votes();
  }

  void pass_time() {
    Instant next = std::min({session_.deadline(), servers_.deadline(), kStart + 5min});
    for (std::size_t i = 0; i < scene_.servers; ++i) {
      next = std::min(next, all_servers()[i].deadline(now_));
    }
    if (job_) next = std::min(next, job_->ends);
    if (tree_) next = std::min(next, *tree_);
    if (!signalled_ && scene_.signal_at > 0s) next = std::min(next, kStart + scene_.signal_at);
    if (next <= now_) {
      require(++idle_ < 100, "a run does not spin");
      next = now_;
    } else {
      idle_ = 0;
    }
    now_ = std::max(now_, next);
  }

  void take_replies() {
    for (lock::Reply& reply : servers_.turn(now_)) {
      idle_ = 0;
      reporter_.say_vote(reply);
      if (!session_.finished()) drive_.step(std::move(reply), now_);
    }
    for (const redis::Notice& notice : servers_.subscribers().take()) {
      reporter_.say_notice(notice.server, notice.text);
      if (!session_.finished()) drive_.step(lock::Notice{}, now_);
    }
    for (const redis::Notice& wake_up : servers_.take_wake_ups(now_)) {
      const auto in = redis::read_wake_up(wake_up.text);
      if (session_.finished()) continue;
      if (wake_up.text.empty()) drive_.step(lock::Subscribed{wake_up.server}, now_);
      if (in) drive_.step(lock::Woken{*in}, now_);
    }
  }

  void poll_job() {
    if (job_ && now_ >= job_->ends) {
      const Job ended = *std::exchange(job_, std::nullopt);
      drive_.step(lock::JobExited{ended.status, ended.end}, now_);
    }
    if (!job_ && tree_ && (now_ >= *tree_ || !scene_.lingers)) tree_.reset();
    if (token_ && !job_ && !tree_ && session_.watching_tree()) {
      drive_.step(lock::JobTreeGone{}, now_);
    }
  }

  void end_job_by(int signal) {
    if (signal != SIGKILL && !scene_.obeys) return;
    if (job_ && job_->ends > now_ + 5ms) {
      *job_ = {now_ + 5ms, 128 + signal, lock::JobEnd::as_told};
    }
    if (tree_) tree_ = std::min(*tree_, now_ + 10ms);
  }

  /// A quorum has granted what we have, as long as our lease lasts.
  void check_votes() {
    if (!job_ || now_ >= session_.worker_state().valid_until) return;
    std::size_t votes = 0;
    for (std::size_t i = 0; i < scene_.servers; ++i) {
      votes += all_servers()[i].has(*token_, now_) ? 1U : 0U;
    }
    require(votes >= scene_.servers / 2 + 1, "a job runs under a lock of a quorum");
  }

  void perform(const lock::Effect& effect, Instant now) override {
    if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
      servers_.ask(*ask, now);
    } else if (const auto* spawn = std::get_if<lock::Spawn>(&effect)) {
      start_job(*spawn);
    } else if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
      const bool found = job_ || tree_;
      end_job_by(kill->signal);
      if (kill->signal == SIGKILL) drive_.step(lock::Killed{found && !killed_}, now);
      killed_ = killed_ || kill->signal == SIGKILL;
    } else if (std::holds_alternative<lock::Measure>(effect)) {
      drive_.step(lock::KillCost{2ms}, now);
    } else if (const auto* listen = std::get_if<lock::Subscribe>(&effect)) {
      servers_.subscribe(listen->attempt, now);
    } else if (const auto* join = std::get_if<lock::JoinQueue>(&effect)) {
      servers_.join_queue(join->ticket, join->early, now);
    } else if (const auto* line = std::get_if<lock::Log>(&effect)) {
      servers_.log(*line, records::word_for(line->event), to_json(records::log_entry(*line, who_)),
                   now);
    } else if (const auto* report = std::get_if<lock::Report>(&effect)) {
      reporter_.say(*report);
    } else if (const auto* order = std::get_if<lock::Replace>(&effect)) {
      replace(*order, now);
    }
  }

  void replace(const lock::Replace& order, Instant now) {
    for (const auto& [server, refusal] : order.refusals) {
      const std::string_view token = lock::read_value(refusal.blocker).token;
      servers_.ask({.server = server,
                    .attempt = lock::kNoAttempt,
                    .operation = lock::op::Revoke{records::revoked_value(token, who_)}},
                   now);
    }
  }

  void start_job(const lock::Spawn& spawn) {
    require(!job_ && !token_, "a job starts once");
    if (scene_.fails_to_start) return drive_.step(lock::JobFailedToStart{127}, now_);
    if (now_ >= spawn.latest) return drive_.step(lock::JobTooLate{}, now_);
    require(spawn.fence > 0, "a job has a fence");
    token_ = servers_.token(spawn.attempt);
    const int status = scene_.settings.hold_on_failure > 0s ? 3 : 0;
    job_ = Job{now_ + scene_.job_length, status, lock::JobEnd::by_itself};
    tree_ = now_ + scene_.job_length + 2s;
    drive_.step(lock::JobStarted{}, now_);
  }

  struct Job {
    Instant ends;
    int status;
    lock::JobEnd end;
  };

  Bytes script_;
  Scene scene_;
  Instant now_ = kStart;
  driver::LockId lock_;
  records::Holder who_;
  lock::Session session_;
  lock::Drive drive_;
  redis::ServerSet servers_;
  os::Stderr out_;
  diag::Reporter reporter_;
  std::optional<Job> job_;
  std::optional<Instant> tree_;  ///< when the last process of the job ends
  std::optional<std::string> token_;
  bool signalled_ = false;
  bool killed_ = false;
  int idle_ = 0;
};

}  // namespace

void session(std::string_view input) {
  random_state = 1;
  Game(input).play();
  require_clean_lines(take_stderr());
}

}  // namespace redlock::fuzz

/// In place of libc's: tokens are the same each time.
extern "C" ssize_t getrandom(void* buffer, size_t size, unsigned /*flags*/) {
  auto* const bytes = static_cast<unsigned char*>(buffer);
  for (size_t at = 0; at < size; ++at) {
    redlock::fuzz::random_state =
        redlock::fuzz::random_state * 6364136223846793005U + 1442695040888963407U;
    bytes[at] = static_cast<unsigned char>(redlock::fuzz::random_state >> 56U);
  }
  return static_cast<ssize_t>(size);
}
