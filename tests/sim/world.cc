// SPDX-License-Identifier: MIT
#include "world.h"

#include <algorithm>
#include <bit>

#include "redis/requests/answer.h"

namespace redlock::sim {

using namespace std::chrono_literals;

namespace {

/// The server carried out a request by which it has the token.
bool remembers(const lock::Answer& answer) {
  return std::holds_alternative<lock::Granted>(answer) ||
         std::holds_alternative<lock::Renewed>(answer);
}

}  // namespace

void World::set_up() {
  timeline_ = {};
  network_.reset(schedule_->timing.ttl, schedule_->break_percent);
  for (std::uint8_t lock = 0; lock < schedule_->locks; ++lock) {
    checks_[lock].reset(*schedule_, timeline_.now());
  }
  scene_.schedule = schedule_;
  scene_.network = &network_;
  scene_.ends = &random_ends_;
  scene_.checks = checks_.data();
  scene_.story = &story_;
  scene_.calm = false;
  scene_.last_used.fill({});
  scene_.settings = {schedule_->restart_grace / 1s, schedule_->timing.ttl / 1ms};
  scene_.clients = &clients_;
  scene_.is_held = [this](std::size_t client, Token token) {
    const std::uint8_t lock = schedule_->client[client].lock;
    std::uint32_t holding = 0;
    const std::size_t servers = clients_[client].servers();
    for (std::uint8_t i = 0; i < servers; ++i) {
      const bool has = keys(lock, real(i)).lasts(token, timeline_.now());
      if (has && !checks_[lock].is_unsure(client, i)) holding |= 1U << i;
    }
    return static_cast<std::size_t>(std::popcount(holding)) > servers / 2;
  };
  for (std::size_t i = 0; i < schedule_->servers; ++i) {
    for (std::uint8_t lock = 0; lock < schedule_->locks; ++lock) set_up_server(i, lock);
  }
  owed_.clear();
  takeovers_.clear();
  clients_.clear();
  for (std::size_t i = 0; i < schedule_->clients; ++i) clients_.emplace_back(scene_, i);
  for (const Fault& fault : schedule_->faults) {
    timeline_.at(fault.at, [this, &fault] { begin(fault); });
  }
  timeline_.at(schedule_->calm_from, [this] { calm_down(); });
}

void World::set_up_server(std::size_t index, std::uint8_t lock) {
  Server& server = keys(lock, index);
  const ServerHost& host = schedule_->server[index];
  const Clock clock(host.rate, std::chrono::milliseconds(kStartMs) + host.wall_offset);
  const std::int64_t started = (clock.shown(0s) - host.up_for).count() / 1'000'000;
  server.reset(static_cast<std::uint32_t>(index), clock, started, lock_name(lock), scene_.settings,
               interpreter_);
  server.set_wake([this, index](Waiter waiter, lock::Duration in) {
    return clients_[client_of(waiter)].publish(static_cast<std::uint8_t>(index), session_of(waiter),
                                               in);
  });
  if (host.fence != 0) server.set_fence(host.fence, host.fence_of_this_life);
  server.set_replica(
      {host.rate, std::chrono::milliseconds(kStartMs) + host.wall_offset + host.replica_ahead});
  if (schedule_->replicated) server.replicate(0s, 0s);
  server.take_snapshot();
}

std::optional<Violation> World::violation() const {
  for (std::uint8_t lock = 0; lock < schedule_->locks; ++lock) {
    if (checks_[lock].violation()) return checks_[lock].violation();
  }
  return std::nullopt;
}

Result World::run(const Schedule& schedule, bool trace) {
  schedule_ = &schedule;
  random_ = Random(schedule.run_seed);
  random_ends_ = Random(schedule.run_seed ^ 0x656e6473U);
  story_.reset(trace);
  set_up();
  const Time bound = schedule.calm_from + schedule.restart_grace * 2 + schedule.timing.ttl * 4 +
                     90s + schedule.longest_hold() * static_cast<int>(2 * schedule.clients);
  Result result;
  while (!timeline_.empty() && !violation()) {
    const Timeline::What event = timeline_.next();
    ++result.events;
    if (timeline_.now() > bound && !all_done()) {
      checks_[0].fail("starved", "somebody still waits long after everything was well again");
      break;
    }
    event();
  }
  if (!violation() && !all_done()) checks_[0].fail("stuck", "somebody waits for nothing");
  for (std::uint8_t lock = 0; lock < schedule_->locks; ++lock) result.jobs += checks_[lock].jobs();
  check_end();
  result.violation = violation();
  return result;
}

/// When all have ended, nothing stays locked for longer than a lock that its holder left to expire.
void World::check_end() {
  const Time end = timeline_.now();
  std::size_t commands = 0;
  for (std::uint8_t lock = 0; lock < schedule_->locks; ++lock) {
    commands += checks_[lock].commands();
    if (violation()) return;
    for (std::size_t i = 0; i < schedule_->servers; ++i) {
      const Time late = end + schedule_->timing.ttl * 2 + schedule_->longest_hold() + 10s;
      for (const Keyspace::Key& key : keys(lock, i).keyspace().keys()) {
        if (key.type == Keyspace::Type::none || key.expires_ms != 0) continue;
        checks_[lock].fail("left", server_name(i) + " has " + key.name + ", which never expires");
      }
      if (schedule_->clocks_step) keys(lock, i).free_stale(schedule_->timing.ttl * 2, late);
      const Token owner = keys(lock, i).owner(late);
      if (owner == kNoToken) continue;
      checks_[lock].fail("left",
                         server_name(i) + " has " + token_text(owner) + ", which never expires");
    }
  }
  if (schedule_->cron && commands == 0) {
    checks_[0].fail("nobody", "several tried once at the same instant, and none ran");
  }
}

bool World::all_done() const {
  return std::ranges::all_of(clients_, &Client::done);
}

Time World::delay(std::uint32_t, std::uint8_t) {
  if (scene_.calm) return random_.between(schedule_->delay_low, 1ms);
  Time delay = random_.between(schedule_->delay_low, schedule_->delay_high);
  if (schedule_->late_percent > 0 && random_.percent(schedule_->late_percent)) {
    delay += random_.between(0s, schedule_->late);
  }
  return delay;
}

Time World::connects_after(std::uint32_t client, std::uint8_t server) {
  if (client != schedule_->slow_client || scene_.calm) return {};
  const ServerHost& host = schedule_->server[server];
  return random_.between(host.connects_after, host.connects_in);
}

void World::serve(ConnectionId id, const Request& request) {
  const std::uint8_t address = network_.at(id).server;
  const std::uint8_t lock = schedule_->client[network_.at(id).client].lock;
  Server& server = keys(lock, real(address));
  const bool releases = lock::is_release(request.op);
  const Token before = releases ? server.owner(timeline_.now()) : kNoToken;
  const bool lasts = releases && server.lasts(before, timeline_.now() + 1ms);
  lock::Answer answer = server.execute(request, timeline_.now());
  if (lasts && plain(before) != request.token && !is_listed(before) &&
      server.owner(timeline_.now()) != before) {
    checks_[lock].fail("touched", server_name(address) + " changes " + token_text(before) +
                                      "'s lock for a release of " + token_text(request.token));
  }
  if (remembers(answer)) checks_[lock].remembers(real(address), request.token);
  check_kept(real(address), request, answer);
  // The last reader that leaves takes the lock with it.
  if (releases && is_released(answer) && is_shared(server.owner(timeline_.now())) &&
      server.readers(timeline_.now()).empty()) {
    checks_[lock].fail("left", server_name(address) + " is shared by nobody");
  }
  if (story_.on()) {
    const Token owner = server.owner(timeline_.now());
    std::string what = "carries out a request of " + token_text(request.token) + "; ";
    what += schedule_->locks == 1 ? "the lock is " : "lock " + lock_name(lock) + " is ";
    what += owner == kNoToken       ? "free"
            : owner == kForeignType ? "foreign"
                                    : token_text(owner) + "'s";
    story_.say(timeline_.now(), server_name(address), what);
  }
  respond(id, request, std::move(answer));
}

/// With WAIT, if the server has a replica, and the client waits for it.
void World::respond(ConnectionId id, const Request& request, lock::Answer answer) {
  const std::uint8_t server = real(network_.at(id).server);
  const std::uint8_t lock = schedule_->client[network_.at(id).client].lock;
  const Time now = timeline_.now();
  Time at = now;
  if (schedule_->replicated) {
    Time lag = random_.between(100us, 1ms);
    if (random_.percent(5)) lag = random_.between(lag, schedule_->server_timeout);
    const Time has = keys(lock, server).replicate(now, lag);
    const Time limit = now + schedule_->server_timeout / 2;
    const bool waits =
        schedule_->waits_for_replicas && !request.joins_queue && redis::is_replicated(request.op);
    if (waits) at = std::min(has, limit);
    const redis::Value none{.type = redis::Value::Type::integer};
    if (waits && has > limit) answer = redis::read_waited(answer, none, 1);
  }
  if (request.op == lock::Op::acquire && std::holds_alternative<lock::Granted>(answer)) {
    checks_[lock].granted(server, request.hold);
  }
  if (at > now) return network_.respond_later(id, std::move(answer), at);
  network_.respond(id, std::move(answer));
}

/// Nothing of that process may be left here.
void World::hung_up(ConnectionId id) {
  if (schedule_->twins) return;
  const Connection& connection = network_.at(id);
  const std::uint8_t lock = schedule_->client[connection.client].lock;
  Server& server = keys(lock, real(connection.server));
  const Token owner = server.owner(timeline_.now());
  std::vector<Token> owners = {owner};
  if (is_shared(owner)) owners = server.readers(timeline_.now());
  for (const Token each : owners) {
    const Time left = std::chrono::milliseconds(server.left(each, timeline_.now()));
    checks_[lock].hung_up(connection.client, connection.session, connection.server, each, left);
  }
  const Waiter waiter = for_mode(make_token(connection.client, connection.session, 0),
                                 schedule_->client[connection.client].mode);
  if (server.place(waiter, timeline_.now()) != 0) {
    checks_[lock].fail("queue", client_name(connection.client) +
                                    " has ended, and is in the queue on " +
                                    server_name(connection.server));
  }
}

}  // namespace redlock::sim
