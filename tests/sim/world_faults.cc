// SPDX-License-Identifier: MIT
//
// The faults of a schedule, each from its beginning to its end.
#include "world.h"

namespace redlock::sim {

using namespace std::chrono_literals;

using Kind = Fault::Kind;

namespace {

Server::Restart how(Kind kind) {
  if (kind == Kind::crash_old) return Server::Restart::snapshot;
  return kind == Kind::crash_kept ? Server::Restart::kept : Server::Restart::empty;
}

}  // namespace

template <class Each>
void World::each_address(std::uint8_t server, Each each) {
  for (std::uint8_t i = 0; i < schedule_->servers; ++i) {
    if (real(i) == real(server)) each(i);
  }
}

void World::begin(const Fault& fault) {
  const Time now = timeline_.now();
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
    story_.say(now, who, "FAULT " + what + " for " + std::to_string(fault.length / 1ms) + " ms");
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
      return each_lock(real(fault.server), [](Server& each) { each.take_snapshot(); });
    case Kind::foreign:
      return keys(fault.lock, real(fault.server))
          .set_foreign(fault.length > 100ms ? kForeignType : make_token(kForeigner, 1, 1),
                       fault.length / 1ms, now);
    case Kind::stop:
    case Kind::flush:
      each_address(fault.server, [&](std::uint8_t s) { network_.stop(s); });
      break;
    case Kind::crash_kept:
    case Kind::crash_old:
    case Kind::crash_empty:
    case Kind::fail_over:
      for (std::uint8_t lock = 0; fault.kind == Kind::fail_over && lock < schedule_->locks;
           ++lock) {
        forget_votes(lock, real(fault.server));
      }
      each_address(fault.server, [&](std::uint8_t s) { network_.crash(s); });
      break;
    case Kind::lag:
      return each_lock(real(fault.server),
                       [&](Server& each) { each.hold_replica(now + fault.length); });
    case Kind::step:
      return step_clock(real(fault.server), fault.length);
    case Kind::pause:
      client.pause(false);
      timeline_.after(fault.length, [&client] { client.resume(); });
      return;
    case Kind::suspend:
      return suspend(fault.client, now + fault.length);
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
  timeline_.after(fault.length, [this, &fault] { end(fault); });
}

/// All that runs on the host, if it has several locks.
void World::suspend(std::size_t client, Time until) {
  for (std::optional<std::size_t> each = schedule_->first_stage(client); each;
       each = schedule_->next_stage(*each)) {
    clients_[*each].pause(true);
    timeline_.at(until, [&client = clients_[*each]] { client.resume(); });
  }
}

void World::isolate(std::uint8_t client, std::uint8_t servers, Time until) {
  for (std::uint8_t i = 0; i < schedule_->servers; ++i) {
    if ((servers >> i & 1U) == 0) continue;
    network_.hold(client, i, true, until);
    network_.hold(client, i, false, until);
  }
}

void World::crashed(std::uint8_t server) {
  for (Client& each : clients_) each.unsubscribe(real(server));
}

/// A vote that the replica lacks, or that will end earlier, is forgotten.
void World::forget_votes(std::uint8_t lock, std::uint8_t index) {
  Server& server = keys(lock, index);
  const Time now = timeline_.now();
  std::vector<Token> tokens = server.readers(now);
  if (tokens.empty()) tokens.push_back(server.owner(now));
  std::vector<std::int64_t> left;
  for (const Token token : tokens) left.push_back(server.left(token, now));
  server.lose_primary(now);
  const bool promised =
      schedule_->waits_for_replicas && schedule_->server[index].replica_ahead == Time{};
  for (std::size_t i = 0; i < tokens.size() && !promised; ++i) {
    if (server.left_on_replica(tokens[i], now) >= left[i]) continue;
    checks_[lock].forgets(index, plain(tokens[i]));  // also if it was revoked there
  }
}

void World::end(const Fault& fault) {
  const std::uint8_t server = real(fault.server);
  if (fault.kind != Kind::stop && fault.kind != Kind::flush) return come_back(fault);
  if (fault.kind == Kind::flush) each_lock(server, [](Server& each) { each.flush(); });
  each_address(server, [&](std::uint8_t s) { network_.go_on(s); });
  if (story_.on() && is_up(server)) story_.say(timeline_.now(), server_name(server), "goes on");
}

/// Crashes that overlap are one with several restarts: data is lost if one of them loses it.
void World::come_back(const Fault& fault) {
  const std::uint8_t server = real(fault.server);
  each_lock(server, [&](Server& each) {
    if (fault.kind == Kind::fail_over) {
      each.promote(timeline_.now());
    } else {
      each.restart(how(fault.kind), timeline_.now());
    }
  });
  each_address(server, [&](std::uint8_t s) { network_.come_back(s); });
  if (story_.on() && is_up(server)) story_.say(timeline_.now(), server_name(server), "is back");
}

void World::calm_down() {
  if (story_.on()) story_.say(timeline_.now(), "", "ALL IS WELL from here on");
  scene_.calm = true;
  network_.heal();
  for (std::size_t i = 0; i < schedule_->servers; ++i) {
    each_lock(i, [](Server& each) { each.hold_replica({}); });
  }
  for (Client& each : clients_) each.calm_down();
  if (schedule_->clocks_step) operate();
}

/// Forward, each vote ends early.
void World::step_clock(std::uint8_t index, Time by) {
  const Time now = timeline_.now();
  for (std::uint8_t lock = 0; lock < schedule_->locks; ++lock) {
    Server& server = keys(lock, index);
    std::vector<Token> tokens = server.readers(now);
    if (tokens.empty()) tokens.push_back(server.owner(now));
    for (const Token each : tokens) {
      if (by > Time{}) checks_[lock].forgets(index, plain(each));
    }
    server.step_clock(by, now);
  }
}

/// As long as somebody waits, an operator looks for locks that stay because a clock was set back.
void World::operate() {
  const Time life = std::max(schedule_->timing.ttl, schedule_->longest_hold()) * 2;
  for (std::size_t i = 0; i < schedule_->servers; ++i) {
    each_lock(i, [&](Server& each) { each.free_stale(life, timeline_.now()); });
  }
  if (!all_done()) timeline_.after(life, [this] { operate(); });
}

}  // namespace redlock::sim
