// SPDX-License-Identifier: MIT
//
// Search instead of chance: everything that two redlocks and three servers can do within a number
// of steps, in every order. A step is an exchange between a client and a server, the passage of
// time to the next moment at which something happens (also while a client is stopped), the end of a
// job, or a fault. Real sessions, requests and scripts, as in a world (world.h); no chance at all.
// States that are equal are followed once.
#include "search.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>

#include "lock/drive.h"
#include "network.h"
#include "schedule.h"
#include "story.h"

namespace redlock::sim {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Situation kSituations[] = {
    {.name = "once", .once = true, .stops = 1},
    {.name = "force", .forces = 1},
    {.name = "crash", .crashes = 1, .lates = 1},
    {.name = "stop", .stops = 1, .lates = 1},
};

class Search;
/// What a client or a server does, or both; C and S in the words stand for them.
struct Step {
  void (Search::*take)(std::size_t client, std::size_t server);
  std::string_view words;
  std::size_t client = 0;  ///< of pass(): it is stopped; kClients: none is
  std::size_t server = 0;
};

class Search final : public lock::Performer, public Transport {
 public:
  explicit Search(const Situation& situation) : situation_(situation) {
    describe();
    state_.left = situation;
    state_.checks.reset(schedule_, state_.now);
    for (std::uint32_t i = 0; i < kServers; ++i) {
      const Clock clock(0, milliseconds(kStartMs));
      const auto started =
          static_cast<std::int64_t>(kStartMs) - schedule_.restart_grace / milliseconds(1) * 3;
      state_.servers[i].reset(i, clock, started, lock_name(0), settings_, interpreter_);
      state_.servers[i].set_fence(kStartMs - 100'000, true);
    }
    start(0, 0);
  }

  /// False: a violation.
  bool look(std::size_t steps) {
    while (saved_.size() < steps) saved_.push_back(std::make_unique<State>());
    seen_.clear();
    return explore(0, steps);
  }
  [[nodiscard]] std::size_t states() const { return seen_.size(); }

  ConnectionId dial(std::uint32_t client, std::uint8_t server, std::uint32_t, bool) override {
    Channel& to = state_.channel(client, server);
    to.dialing = to.open = true;
    to.requests.clear();
    return static_cast<ConnectionId>(client * kServers + server);
  }
  void send(ConnectionId id, Request request) override {
    Channel& to = state_.channel(id / kServers, id % kServers);
    to.note(hash_of(request.commands));
    to.requests.push_back(std::move(request));
  }
  void hang_up(ConnectionId id, bool orderly) override {
    Channel& to = state_.channel(id / kServers, id % kServers);
    to.open = to.dialing = false;
    to.answers.clear();
    if (!orderly) to.requests.clear();
    to.note(orderly);
  }

  void perform(const lock::Effect& effect, lock::Instant now) override {
    ++effects_;
    Contender& client = state_.clients[acting_];
    if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
      client.tokens.asks(*ask);
      state_.checks.asked(acting_, *ask, now);
      client.links[ask->server].ask(*ask, now);
    } else if (const auto* order = std::get_if<lock::Spawn>(&effect)) {
      spawn(*order);
    } else if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
      if (client.session->watching_tree()) state_.checks.stopping(acting_);
      if (kill->signal != SIGKILL || !std::exchange(client.job, false)) return;
      state_.checks.job_gone(acting_);
      state_.jobs = mix(state_.jobs, acting_);
      drive_->step(lock::JobExited{128 + SIGKILL}, now);
      drive_->step(lock::JobTreeGone{}, now);
    } else if (std::holds_alternative<lock::Measure>(effect)) {
      drive_->step(lock::KillCost{}, now);
    }
  }

 private:
  [[nodiscard]] lock::Instant local(std::size_t client) const {
    return client_clock(schedule_, client).now(state_.now);
  }

  void describe() {
    schedule_.servers = kServers;
    schedule_.clients = kClients;
    schedule_.timing.ttl = seconds(1);
    schedule_.timing.grace = schedule_.timing.ttl / 6;
    schedule_.restart_grace = seconds(1);
    schedule_.server_timeout = schedule_.connect_timeout = milliseconds(100);
    for (std::size_t i = 0; i < kServers; ++i) {
      schedule_.server[i].same_as = static_cast<std::uint8_t>(i);
    }
    if (situation_.once) schedule_.client[0].once = milliseconds(1);
    schedule_.seized = situation_.forces > 0;
    schedule_.seizures_are_kept = schedule_.marks_are_kept = situation_.crashes == 0;
    settings_ = {schedule_.restart_grace / seconds(1), schedule_.timing.ttl / milliseconds(1)};
  }

  bool explore(std::size_t level, std::size_t left) {
    if (state_.checks.violation()) {
      print_violation();
      return false;
    }
    std::size_t& seen = seen_[state_.hash()];
    if (seen > left) return true;
    seen = left + 1;
    if (left == 0) return true;
    State& saved = *saved_[level];
    saved = state_;
    for (const Step& step : steps()) {
      path_.push_back(step);
      (this->*step.take)(step.client, step.server);
      if (!explore(level + 1, left - 1)) return false;
      path_.pop_back();
      state_ = saved;
    }
    return true;
  }

  [[nodiscard]] std::vector<Step> steps() const {
    std::vector<Step> steps;
    // Servers that nobody has touched are alike.
    const auto untouched = static_cast<std::size_t>(std::countr_one(state_.touched));
    const auto is_first = [&](std::size_t server) {
      return (state_.touched >> server & 1U) != 0 || server == untouched;
    };
    for (std::size_t c = 0; c < kClients; ++c) {
      const Contender& client = state_.clients[c];
      if (!client.started) steps.push_back({&Search::start, "C starts", c});
      if (client.job) steps.push_back({&Search::end_job, "C's job ends", c});
      for (std::size_t s = 0; s < kServers; ++s) {
        const Channel& to = client.channels[s];
        const bool news = to.dialing || !to.requests.empty() || !to.answers.empty() ||
                          (client.session && client.links[s].has_news());
        if (news && is_first(s))
          steps.push_back({&Search::exchange, "C and S hear each other", c, s});
        if (state_.left.lates > 0 && to.open && !to.requests.empty() && is_first(s)) {
          steps.push_back({&Search::late, "S hears C, and its answer is late", c, s});
        }
      }
      if (state_.left.stops > 0 && client.session && next_moment(c) != kForever) {
        steps.push_back({&Search::pass, "time passes while C is stopped", c});
      }
    }
    if (next_moment(kClients) != kForever)
      steps.push_back({&Search::pass, "time passes", kClients});
    if (state_.left.forces > 0) {
      steps.push_back({&Search::force, "somebody looks at the lock, to take it by force"});
    }
    for (std::size_t s = 0; s < kServers; ++s) {
      if (state_.left.crashes > 0 && is_first(s)) {
        steps.push_back({&Search::crash, "S restarts without its data", 0, s});
      }
      if (state_.taken == kNoToken) continue;
      if ((state_.revoked >> s & 1U) == 0) {
        steps.push_back({&Search::revoke, "… and revokes it on S", 0, s});
      }
      if (static_cast<unsigned>(std::popcount(state_.revoked)) >= kQuorum &&
          (state_.deleted >> s & 1U) == 0) {
        steps.push_back({&Search::remove, "… and deletes it on S", 0, s});
      }
    }
    return steps;
  }

  /// The next time at which a client has to do something, but for the one that is stopped, or at
  /// which the lock expires on a server.
  [[nodiscard]] Time next_moment(std::size_t stopped) const {
    Time next = kForever;
    for (std::size_t c = 0; c < kClients; ++c) {
      if (c == stopped || !state_.clients[c].session) continue;
      const lock::Instant at = state_.clients[c].deadline();
      if (at == lock::kNever) continue;
      next = std::min(next, std::max(client_clock(schedule_, c).when(at), state_.now));
    }
    for (const Server& server : state_.servers) {
      const Token owner = server.owner(state_.now);
      if (owner == kNoToken) continue;
      next = std::min<Time>(next, state_.now + milliseconds(server.left(owner, state_.now) + 1));
    }
    return next;
  }

  void print_violation() const {
    std::printf("%s:\n", std::string(situation_.name).c_str());
    for (const Step& step : path_) {
      std::string line(step.words);
      for (std::size_t at = 0; (at = line.find_first_of("CS", at)) != line.npos; at += 2) {
        line.replace(at, 1, line[at] == 'C' ? client_name(step.client) : server_name(step.server));
      }
      std::printf("  %s\n", line.c_str());
    }
    const Violation& violation = *state_.checks.violation();
    std::printf("VIOLATION %s: %s (%zu steps)\n", violation.check, violation.what.c_str(),
                path_.size());
  }

  void start(std::size_t index, std::size_t) {
    Contender& client = state_.clients[index];
    client.started = true;
    const lock::Plan plan{.servers = kServers,
                          .timing = {.ttl = schedule_.timing.ttl,
                                     .grace = schedule_.timing.grace,
                                     .once = schedule_.client[index].once},
                          .patience = {.wait = std::nullopt, .server_wait = seconds(10)},
                          .max_runtime = std::nullopt,
                          .server_timeout = schedule_.server_timeout,
                          .seed = index};
    client.session.emplace(plan, local(index));
    client.tokens.begin(static_cast<std::uint32_t>(index), 1, {}, kNoToken);
    client.context = lock_context(lock_name(0), client.tokens.waiter(), settings_);
    for (std::size_t s = 0; s < kServers; ++s) {
      client.links[s].begin({.transport = this,
                             .context = &client.context,
                             .tokens = &client.tokens,
                             .connect_timeout = schedule_.connect_timeout,
                             .server_timeout = schedule_.server_timeout,
                             .client = static_cast<std::uint8_t>(index),
                             .server = static_cast<std::uint8_t>(s),
                             .session = 1});
    }
    state_.checks.session_began(index, 1, kServers);
    turn(index);
  }

  /// The connection is made if it is not there; one request is carried out, or one answer arrives.
  void exchange(std::size_t index, std::size_t server) {
    Contender& client = state_.clients[index];
    Channel& to = client.channels[server];
    if (std::exchange(to.dialing, false))
      client.links[server].take_in({Inbound::Kind::connected, {}});
    turn(index);
    if (to.answers.empty() && !to.requests.empty()) carry_out(index, server);
    if (to.answers.empty()) return;
    lock::Answer answer = std::move(to.answers.front());
    to.answers.pop_front();
    client.links[server].take_in({Inbound::Kind::answer, std::move(answer)});
    turn(index);
  }

  void late(std::size_t client, std::size_t server) {
    --state_.left.lates;
    carry_out(client, server);
  }

  void carry_out(std::size_t client, std::size_t server) {
    Channel& to = state_.channel(client, server);
    const Request request = std::move(to.requests.front());
    to.requests.pop_front();
    state_.touched |= 1U << server;
    lock::Answer answer = state_.servers[server].execute(request, state_.now);
    if (request.op == lock::Op::acquire && std::holds_alternative<lock::Granted>(answer)) {
      state_.checks.granted(server, request.hold);
    }
    if (!to.open) return;
    to.note(hash_of(answer));
    to.answers.push_back(std::move(answer));
  }

  /// To a process that is stopped, the kernel makes its connections all the same.
  void pass(std::size_t stopped, std::size_t) {
    state_.now = next_moment(stopped);
    if (stopped < kClients) {
      --state_.left.stops;
      Contender& client = state_.clients[stopped];
      client.stopped = true;
      state_.checks.paused(stopped);
      for (std::size_t s = 0; s < kServers; ++s) {
        if (!std::exchange(client.channels[s].dialing, false)) continue;
        client.links[s].take_in({Inbound::Kind::connected, {}});
      }
    }
    for (std::size_t c = 0; c < kClients; ++c) {
      const Contender& client = state_.clients[c];
      if (c != stopped && client.session && client.deadline() <= local(c)) turn(c);
    }
  }

  void crash(std::size_t, std::size_t server) {
    --state_.left.crashes;
    state_.touched |= 1U << server;
    state_.servers[server].restart(Server::Restart::empty, state_.now);
    for (std::size_t c = 0; c < kClients; ++c) {
      Channel& to = state_.channel(c, server);
      to.requests.clear();
      to.answers.clear();
      to.note(1);
      if (!to.open || to.dialing) continue;
      state_.clients[c].links[server].take_in({Inbound::Kind::broken, {}});
      turn(c);
    }
  }

  /// As World::seize(): the lock that a quorum has.
  void force(std::size_t, std::size_t) {
    --state_.left.forces;
    for (const Server& server : state_.servers) {
      const Token token = plain(server.owner(state_.now));
      const auto having = std::ranges::count_if(state_.servers, [&](const Server& each) {
        return plain(each.owner(state_.now)) == token;
      });
      if (token != kNoToken && static_cast<unsigned>(having) >= kQuorum) state_.taken = token;
    }
  }

  void revoke(std::size_t, std::size_t index) {
    Server& server = state_.servers[index];
    if (server.revoke(state_.taken, state_.now)) state_.checks.revoked(state_.taken);
    const Token left = server.owner(state_.now);
    if (left == kNoToken || left == sim::revoked(state_.taken)) state_.revoked |= 1U << index;
  }

  void remove(std::size_t, std::size_t index) {
    if (!state_.servers[index].remove(state_.taken, {}, state_.now)) return;
    state_.deleted |= 1U << index;
    state_.checks.deleted(state_.taken);
    if (std::popcount(state_.deleted) == kQuorum) state_.checks.seized(state_.taken);
  }

  /// Turns of its loop, until nothing more has come in.
  void turn(std::size_t index) {
    Contender& client = state_.clients[index];
    if (!client.session) return;
    if (std::exchange(client.stopped, false)) state_.checks.resumed(index);
    hand(index, lock::Tick{}, 0);
    std::vector<Link::Arrival> arrivals;
    do {
      arrivals.clear();
      for (Link& link : client.links) link.turn(local(index), arrivals);
      for (const Link::Arrival& each : arrivals) {
        const lock::Reply reply{each.ask, each.sent, each.answer};
        state_.checks.answered(index, reply);
        const Hash what =
            mix(each.ask.server << 8U | static_cast<Hash>(each.ask.op()), each.ask.round);
        hand(index, reply,
             mix(mix(what, hash_of(each.answer)), hash_of(each.sent.time_since_epoch())));
      }
    } while (!arrivals.empty());
    if (!client.session->finished()) return;
    state_.checks.session_ended(index, 1, client.session->outcome().kind, true);
    for (Link& link : client.links) link.end(true);
    client.session.reset();
  }

  /// Replies that make it do nothing count in any order.
  void hand(std::size_t index, const lock::Event& event, Hash hash) {
    Contender& client = state_.clients[index];
    lock::Drive drive(*client.session, *this);
    acting_ = index;
    drive_ = &drive;
    const std::size_t before = effects_;
    drive.step(event, local(index));
    hash = mix(mix(hash, event.index()), hash_of(state_.now));
    if (effects_ != before) {
      client.past = mix(mix(client.past, client.replies), hash);
      client.replies = 0;
    } else if (!std::holds_alternative<lock::Tick>(event)) {
      client.replies += hash;
    }
  }

  void spawn(const lock::Spawn& order) {
    const Contender& client = state_.clients[acting_];
    if (local(acting_) >= order.latest) return drive_->step(lock::JobTooLate{}, local(acting_));
    state_.checks.job_started(acting_, order.attempt, order.fence, client.tokens.own(order.attempt),
                              client.tokens.lock(order.attempt));
    state_.clients[acting_].job = true;
    state_.jobs = mix(state_.jobs, order.fence << 8U | acting_);
    drive_->step(lock::JobStarted{}, local(acting_));
  }

  /// By itself.
  void end_job(std::size_t index, std::size_t) {
    Contender& client = state_.clients[index];
    client.job = false;
    state_.checks.job_gone(index);
    state_.checks.job_exited(index, !client.session->watching_tree());
    state_.jobs = mix(state_.jobs, index);
    hand(index, lock::JobExited{0}, 0);
    if (client.session->watching_tree()) hand(index, lock::JobTreeGone{}, 0);
    turn(index);
  }

  Interpreter interpreter_;
  Situation situation_;
  LockSettings settings_;
  Schedule schedule_;
  State state_;
  std::vector<std::unique_ptr<State>> saved_;
  std::unordered_map<Hash, std::size_t> seen_;  ///< with how many steps left
  std::vector<Step> path_;
  // During a step:
  std::size_t acting_ = 0;
  lock::Drive* drive_ = nullptr;
  std::size_t effects_ = 0;
};

}  // namespace

bool search(std::size_t most_steps, std::string_view only) {
  const auto began = std::chrono::steady_clock::now();
  for (const Situation& situation : kSituations) {
    if (situation.name.find(only) == std::string_view::npos) continue;
    Search search(situation);
    for (std::size_t steps = 1; steps <= most_steps; ++steps) {
      if (!search.look(steps)) return false;
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      std::printf("%s: %zu states within %zu steps, %.1f s\n", std::string(situation.name).c_str(),
                  search.states(), steps, took.count());
      std::fflush(stdout);
    }
  }
  return true;
}

}  // namespace redlock::sim
