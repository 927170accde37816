// SPDX-License-Identifier: MIT
#include "world.h"

#include <algorithm>

namespace redlock::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

using Kind = Fault::Kind;

Server::Restart how(Kind kind) {
  if (kind == Kind::crash_old) return Server::Restart::snapshot;
  return kind == Kind::crash_kept ? Server::Restart::kept : Server::Restart::empty;
}

bool is_crash(Kind kind) {
  return kind == Kind::crash_kept || kind == Kind::crash_old || kind == Kind::crash_empty;
}

/// The server carried out a request by which it has the token.
bool remembers(const Request& request, const Response& response) {
  const bool takes = request.op == lock::Op::acquire || request.op == lock::Op::repair;
  return (takes && response.word == Response::Word::granted) ||
         response.word == Response::Word::renewed;
}

}  // namespace

template <class Each>
void World::each_address(std::uint8_t server, Each each) {
  for (std::uint8_t i = 0; i < schedule_->servers; ++i) {
    if (real(i) == real(server)) each(i);
  }
}

void World::set_up() {
  events_.reset();
  network_.reset(*schedule_);
  wake_ups_.reset(*schedule_);
  checks_.reset(*schedule_, scene_.mutation);
  scene_.schedule = schedule_;
  scene_.events = &events_;
  scene_.network = &network_;
  scene_.wake_ups = &wake_ups_;
  scene_.random = &random_;
  scene_.checks = &checks_;
  scene_.story = &story_;
  scene_.calm = false;
  scene_.settings = {schedule_->restart_grace / seconds(1),
                     schedule_->timing.ttl / milliseconds(1)};
  scene_.clients = clients_.data();
  for (std::size_t i = 0; i < schedule_->servers; ++i) {
    const ServerHost& host = schedule_->server[i];
    const Clock clock(host.rate, milliseconds(kStartMs) + host.wall_offset);
    const std::int64_t started = (clock.shown(Time::zero()) - host.up_for).count() / 1'000'000;
    servers_[i].reset(static_cast<std::uint32_t>(i), clock, started, scene_.settings,
                      scene_.mutation);
    servers_[i].set_publish([this, i](Waiter waiter, const WakeUp& wake_up) {
      return wake_ups_.publish(static_cast<std::uint32_t>(i), waiter, wake_up);
    });
    if (host.fence != 0) {
      const std::uint32_t life = host.fence_of_this_life ? servers_[i].run_id() : 0;
      servers_[i].data().fence = {true, host.fence, life};
    }
    servers_[i].set_replica(
        {host.rate, milliseconds(kStartMs) + host.wall_offset + host.replica_ahead});
    if (schedule_->replicated) servers_[i].replicate(Time::zero(), Time::zero());
    servers_[i].take_snapshot();
    stopped_[i] = crashed_[i] = 0;
  }
  owed_.clear();
  takeovers_.clear();
  for (std::size_t i = 0; i < schedule_->clients; ++i) clients_[i].reset(scene_, i);
  for (std::uint32_t i = 0; i < schedule_->faults.size(); ++i) {
    events_.add(EventKind::fault, schedule_->faults[i].at, i);
  }
  events_.add(EventKind::calm, schedule_->calm_from, 0);
}

Result World::run(const Schedule& schedule, bool trace) {
  schedule_ = &schedule;
  random_ = Random(schedule.run_seed);
  story_.reset(trace);
  set_up();
  const Time bound = schedule.calm_from + schedule.restart_grace * 2 + schedule.timing.ttl * 4 +
                     seconds(90) + schedule.longest_hold() * static_cast<int>(2 * schedule.clients);
  Result result;
  while (!events_.empty() && !checks_.violation()) {
    const Event event = events_.next();
    ++result.events;
    if (event.at > bound && !all_done()) {
      checks_.fail("starved", "somebody still waits long after everything was well again",
                   event.at);
      break;
    }
    happen(event);
  }
  if (!all_done()) checks_.fail("stuck", "somebody waits for nothing", events_.now());
  checks_.ended(events_.now());
  result.violation = checks_.violation();
  result.jobs = checks_.jobs();
  return result;
}

bool World::all_done() const {
  for (std::size_t i = 0; i < schedule_->clients; ++i) {
    if (!clients_[i].done()) return false;
  }
  return true;
}

void World::happen(const Event& event) {
  switch (event.kind) {
    case EventKind::fault:
      return begin(schedule_->faults[event.who], event.who);
    case EventKind::fault_over:
      return end(schedule_->faults[event.who]);
    case EventKind::calm:
      return calm_down();
    case EventKind::wake:
      return clients_[event.who].wake(event.at);
    case EventKind::client_starts:
      return clients_[event.who].start();
    case EventKind::client_resumes:
      return clients_[event.who].resume();
    case EventKind::job_ends:
      return clients_[event.who].job_ends(event.stamp);
    case EventKind::tree_ends:
      return clients_[event.who].tree_ends(event.stamp);
    case EventKind::revoke:
    case EventKind::remove:
      return take_away(event);
    case EventKind::told:
      return clients_[event.who].told(event.stamp);
    case EventKind::woken:
      return clients_[event.who & 0xffU].woken(event.stamp, milliseconds(event.who >> 8U));
    case EventKind::subscribes:
      return wake_ups_.arrive(event, is_up(static_cast<std::uint8_t>(event.who >> 8U)));
    case EventKind::subscribed:
      return clients_[event.who & 0xffU].subscribed(event.stamp, event.who >> 8U);
    case EventKind::hand_back:
      return carry_out_release(event);
    case EventKind::word:
      return clients_[event.who].hear_released(event.stamp);
    case EventKind::connected:
    case EventKind::refused:
    case EventKind::broken:
    case EventKind::request:
    case EventKind::run_request:
    case EventKind::response:
    case EventKind::acknowledged:
      return connection_event(event);
  }
}

void World::connection_event(const Event& event) {
  const ConnectionId id = event.who;
  if (!network_.current(id, event.stamp)) return;
  Connection& connection = network_.at(id);
  const std::size_t server = connection.server;
  Client& client = clients_[connection.client];
  switch (event.kind) {
    case EventKind::request:
      if (network_.arrive(id)) serve(id);
      break;
    case EventKind::run_request:
      if (network_.may_run(id)) {
        --connection.arrived;
        serve(id);
      }
      break;
    case EventKind::response: {
      Inbound inbound{Inbound::Kind::response, {}};
      if (network_.take_response(id, inbound.response)) client.take_in(server, inbound);
      break;
    }
    case EventKind::acknowledged:
      network_.acknowledge(id);
      break;
    case EventKind::connected:
      // Down in the meantime: what is sent will not get there, and tells.
      network_.establish(id);
      if (connection.open && !connection.over)
        client.take_in(server, {Inbound::Kind::connected, {}});
      break;
    default:
      if (!connection.open || connection.over) break;
      connection.over = true;
      client.take_in(
          server,
          {event.kind == EventKind::refused ? Inbound::Kind::refused : Inbound::Kind::broken, {}});
      break;
  }
  network_.settle(id);
}

void World::serve(ConnectionId id) {
  const Request request = network_.take_request(id);
  const std::uint8_t address = network_.at(id).server;
  Server& server = servers_[real(address)];
  const Response response = server.execute(request, events_.now());
  if (remembers(request, response)) checks_.remembers(real(address), request.token);
  check_kept(real(address), request, response);
  // The last reader that leaves takes the lock with it.
  if (lock::is_release(request.op) && is_shared(server.owner(events_.now())) &&
      response.word == Response::Word::released && server.readers(events_.now()).empty()) {
    checks_.fail("left", server_name(address) + " is shared by nobody", events_.now());
  }
  if (story_.on()) {
    const Token owner = server.owner(events_.now());
    std::string what = "carries out a request of " + token_text(request.token) + "; the lock is ";
    what += owner == kNoToken       ? "free"
            : owner == kForeignType ? "foreign"
                                    : token_text(owner) + "'s";
    story_.say(events_.now(), server_name(address), what);
  }
  respond(id, request, response);
  check_hung_up(id);
}

/// With WAIT, if the server has a replica, and the client waits for it.
void World::respond(ConnectionId id, const Request& request, Response response) {
  const std::uint8_t server = real(network_.at(id).server);
  const Time now = events_.now();
  Time at = now;
  if (schedule_->replicated) {
    Time lag = random_.between(std::chrono::microseconds(100), milliseconds(1));
    if (random_.percent(5)) lag = random_.between(lag, schedule_->server_timeout);
    const Time has = servers_[server].replicate(now, lag);
    const Time limit = now + schedule_->server_timeout / 2;
    const bool waits = schedule_->waits_for_replicas && !request.joins_line &&
                       waits_for_replicas(request.op, scene_.mutation);
    if (waits) at = std::min(has, limit);
    if (waits && has > limit) response = without_replicas(response, scene_.mutation);
  }
  if (request.op == lock::Op::acquire && response.word == Response::Word::granted) {
    checks_.granted(server, request.hold);
  }
  if (at > now) return network_.respond_later(id, response, at);
  network_.respond(id, response);
}

/// The last request of a process that has ended in good order: nothing of it may be left here.
void World::check_hung_up(ConnectionId id) {
  const Connection& connection = network_.at(id);
  if (!connection.fin || !connection.requests.empty() || schedule_->twins) return;
  Server& server = servers_[real(connection.server)];
  const Token owner = server.owner(events_.now());
  std::vector<Token> owners = {owner};
  if (is_shared(owner)) owners = server.readers(events_.now());
  for (const Token each : owners) {
    checks_.hung_up(connection.client, connection.session, connection.server, each, events_.now());
  }
  const Waiter waiter = for_mode(make_token(connection.client, connection.session, 0),
                                 schedule_->client[connection.client].mode);
  if (server.data().line.place(waiter) != 0) {
    checks_.fail("queue",
                 client_name(connection.client) + " has ended, and is in line on " +
                     server_name(connection.server),
                 events_.now());
  }
}

void World::begin(const Fault& fault, std::uint32_t number) {
  const Time now = events_.now();
  if (story_.on()) {
    const bool of_client = fault.kind >= Kind::pause || fault.kind <= Kind::isolate;
    std::string who = of_client ? client_name(fault.client) : std::string();
    who +=
        fault.kind >= Kind::pause || fault.kind == Kind::isolate ? "" : server_name(fault.server);
    std::string what(text(fault.kind));
    if (fault.kind == Kind::isolate) {
      what += " from";
      for (std::size_t i = 0; i < schedule_->servers; ++i) {
        if ((fault.server >> i & 1U) != 0) what += ' ' + server_name(i);
      }
    }
    story_.say(now, who,
               "FAULT " + what + " for " + std::to_string(fault.length / milliseconds(1)) + " ms");
  }
  Client& client = clients_[fault.client];
  switch (fault.kind) {
    case Kind::cut:
      return network_.cut(fault.client, fault.server);
    case Kind::deaf:
    case Kind::mute:
      return network_.hold(fault.client, fault.server, fault.kind == Kind::deaf,
                           now + fault.length);
    case Kind::isolate:
      return isolate(fault.client, fault.server, now + fault.length);
    case Kind::snapshot:
      return servers_[real(fault.server)].take_snapshot();
    case Kind::foreign:
      return servers_[real(fault.server)].set_foreign(
          fault.length > milliseconds(100) ? kForeignType : make_token(kForeigner, 1, 1),
          fault.length / milliseconds(1), now);
    case Kind::stop:
    case Kind::flush:
      ++stopped_[real(fault.server)];
      each_address(fault.server, [&](std::uint8_t s) { network_.server_stopped(s); });
      break;
    case Kind::crash_kept:
    case Kind::crash_old:
    case Kind::crash_empty:
      crash(fault.server);
      break;
    case Kind::fail_over:
      fail_over(real(fault.server));
      break;
    case Kind::lag:
      return servers_[real(fault.server)].hold_replica(now + fault.length);
    case Kind::pause:
    case Kind::suspend:
      client.pause(fault.kind == Kind::suspend);
      events_.add(EventKind::client_resumes, now + fault.length, fault.client);
      return;
    case Kind::kill:
      return client.kill();
    case Kind::signal:
      return client.signal();
    case Kind::revoke:
    case Kind::seize:
      return force(fault);
    case Kind::hand_back:
      return hand_back(fault);
    case Kind::rumour:
      return client.hear_released(client.run());
  }
  events_.add(EventKind::fault_over, now + fault.length, number);
}

/// `redlock release NAME TOKEN`, of a lock that is kept: it reaches one server after the other, and
/// some not.
void World::hand_back(const Fault& fault) {
  const Time now = events_.now();
  Token token = plain(servers_[real(fault.server)].owner(now));
  if (is_shared(token)) {
    const std::vector<Token> readers = servers_[real(fault.server)].readers(now);
    if (readers.empty()) return;
    token = readers[random_.below(static_cast<std::uint32_t>(readers.size()))];
  }
  if (token == kNoToken || token == kForeignType || client_of(token) >= schedule_->clients) return;
  if (!clients_[client_of(token)].keeps(token)) return;
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    if (real(server) != server || random_.percent(10)) continue;
    const Time length = random_.between(Time::zero(), fault.length);
    if (servers_[server].lasts(token, now + length + milliseconds(10))) {
      owed_.push_back({token, server, servers_[server].memory(), now + length});
    }
    events_.add(EventKind::hand_back, now + length, server, 0, token);
  }
}

void World::carry_out_release(const Event& event) {
  if (stopped_[event.who] > 0 || crashed_[event.who] > 0) return;
  Server& server = servers_[event.who];
  const Token token = event.token;
  const Response response = server.execute({.op = lock::Op::leave,
                                            .token = token,
                                            .fence = 0,
                                            .hold = token,
                                            .life_ms = 0,
                                            .by = By::owner},
                                           events_.now());
  const bool owed = std::ranges::any_of(owed_, [&](const Owed& each) {
    return each.token == token && each.server == event.who && each.memory == server.memory() &&
           each.at == event.at;
  });
  const bool denied = owed && response.word != Response::Word::released;
  if (story_.on()) {
    story_.say(events_.now(), server_name(event.who),
               "carries out its owner's release of " + token_text(token) +
                   (response.word == Response::Word::released ? "" : ", and finds none"));
  }
  checks_.handed_back(event.who, server.memory(), token, denied, events_.now());
  if (random_.percent(30)) return;  // nobody listens
  events_.add(EventKind::word,
              events_.now() + random_.between(schedule_->delay_low, schedule_->delay_high),
              client_of(token), session_of(token));
}

/// What keepers may do to a lock that has an owner.
void World::check_kept(std::size_t server, const Request& request, const Response& response) {
  if (client_of(request.token) >= schedule_->clients) return;
  if (request.op == lock::Op::repair && response.word == Response::Word::granted) {
    checks_.put_back(server, servers_[server].memory(), request.token, events_.now());
  }
  const bool deleted = lock::is_release(request.op) && response.word == Response::Word::released;
  if (deleted && clients_[client_of(request.token)].keeps(request.token)) {
    checks_.kept_deleted(request.token, events_.now());
  }
}

void World::isolate(std::uint8_t client, std::uint8_t servers, Time until) {
  for (std::uint8_t i = 0; i < schedule_->servers; ++i) {
    if ((servers >> i & 1U) == 0) continue;
    network_.hold(client, i, true, until);
    network_.hold(client, i, false, until);
  }
}

void World::crash(std::uint8_t server) {
  ++crashed_[real(server)];
  wake_ups_.server_down(real(server));
  each_address(server, [&](std::uint8_t s) { network_.server_down(s); });
}

/// A vote that the replica lacks, or that will end earlier, is forgotten.
void World::fail_over(std::uint8_t index) {
  Server& server = servers_[index];
  const Time now = events_.now();
  std::vector<Token> tokens = server.readers(now);
  if (tokens.empty()) tokens.push_back(server.owner(now));
  std::vector<std::int64_t> left;
  for (const Token token : tokens) left.push_back(server.left(token, now));
  server.lose_primary(now);
  const bool promised =
      schedule_->waits_for_replicas && schedule_->server[index].replica_ahead == Time{};
  for (std::size_t i = 0; i < tokens.size() && !promised; ++i) {
    if (server.left_on_replica(tokens[i], now) < left[i]) checks_.forgets(index, tokens[i]);
  }
  crash(index);
}

void World::end(const Fault& fault) {
  const std::uint8_t server = real(fault.server);
  if (is_crash(fault.kind) || fault.kind == Kind::fail_over) return come_back(fault);
  if (fault.kind == Kind::flush) servers_[server].flush();
  if (--stopped_[server] > 0 || crashed_[server] > 0) return;
  if (story_.on()) story_.say(events_.now(), server_name(server), "goes on");
  each_address(server, [&](std::uint8_t s) { network_.server_continued(s); });
}

/// Crashes that overlap are one with several restarts: data is lost if one of them loses it.
void World::come_back(const Fault& fault) {
  const std::uint8_t server = real(fault.server);
  if (fault.kind == Kind::fail_over) {
    servers_[server].promote(events_.now());
  } else {
    servers_[server].restart(how(fault.kind), events_.now());
  }
  if (--crashed_[server] > 0) return;
  if (story_.on()) story_.say(events_.now(), server_name(server), "is back");
  each_address(server, [&](std::uint8_t s) {
    network_.server_up(s);
    if (stopped_[server] == 0) network_.server_continued(s);
  });
}

void World::calm_down() {
  if (story_.on()) story_.say(events_.now(), "", "ALL IS WELL from here on");
  scene_.calm = true;
  network_.heal();
  for (std::size_t i = 0; i < schedule_->servers; ++i) servers_[i].hold_replica({});
  for (std::size_t i = 0; i < schedule_->clients; ++i) clients_[i].calm_down();
}

}  // namespace redlock::sim
