// SPDX-License-Identifier: MIT
//
// What people do to locks in a world: `redlock release --force`, with --now or without, and the
// release of a lock that is kept for its owner, with what its keeper may do.
#include <algorithm>
#include <bit>

#include "world.h"

namespace redlock::sim {

using std::chrono::milliseconds;
using Kind = Fault::Kind;

/// `redlock release --force` on whoever holds the lock on that server: it reaches one server after
/// the other, and some not.
void World::force(const Fault& fault) {
  const Token value = keys(fault.lock, real(fault.server)).owner(events_.now());
  const Token token = plain(value);
  if (value == kNoToken || value == kForeignType || client_of(token) >= schedule_->clients) return;
  if (is_shared(token) || fault.kind == Kind::seize) return seize(token, fault);
  takeovers_.push_back({.token = token, .lock = fault.lock, .untold_percent = 30});
  takeovers_.back().values.fill(token);
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    if (real(server) != server || random_.percent(10)) continue;
    const Time at = events_.now() + random_.between(Time::zero(), fault.length);
    events_.add(EventKind::revoke, at, server, 0, token);
  }
}

/// With --now: if a quorum shows the lock, it is revoked where it is, and then deleted there, and
/// buried where there is nothing. A shared lock is taken from all readers, with --now or without.
void World::seize(Token token, const Fault& fault) {
  const Time now = events_.now();
  const bool deletes = fault.kind == Kind::seize;
  const bool readers = is_shared(token);
  Takeover takeover{.token = token, .lock = fault.lock, .untold_percent = readers ? 40U : 60U};
  // No server has this as a value: it names the takeover.
  if (readers) takeover.token = shared(kReaderBit | Token{takeovers_.size()} << 16U);
  takeover.values.fill(takeover.token);
  std::uint32_t shown = 0;
  std::uint32_t asked = 0;
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    if (stopped_[server] > 0 || crashed_[server] > 0 || random_.percent(deletes ? 20 : 10))
      continue;
    if (real(server) != server) continue;
    const Token value = keys(fault.lock, server).owner(now);
    const bool shows = readers ? is_shared(value) : value != kNoToken && plain(value) == token;
    if (shows) shown |= 1U << server;
    if (shows || value == kNoToken) asked |= 1U << server;
    if (!readers) continue;
    if (value != kNoToken) takeover.values[server] = plain(value);
    for (const Token each : keys(fault.lock, server).readers(now)) takeover.readers.push_back(each);
  }
  if (deletes && !is_quorum(shown)) return;
  if (!readers) takeover.readers = {token};
  takeovers_.push_back(takeover);
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    const Time first = now + random_.between(Time::zero(), fault.length);
    const Time then = now + fault.length + milliseconds(1);
    const Time second = then + random_.between(Time::zero(), fault.length);
    if ((shown >> server & 1U) != 0) {
      events_.add(EventKind::revoke, first, server, 0, takeover.token);
    }
    if (deletes && (asked >> server & 1U) != 0) {
      events_.add(EventKind::remove, second, server, 0, takeover.token);
    }
  }
}

/// Readers that have entered since they were seen lose their lock, too.
void World::revoke(const Event& event) {
  Takeover& takeover = *std::ranges::find(takeovers_, event.token, &Takeover::token);
  Server& server = keys(takeover.lock, event.who);
  const Time now = events_.now();
  const Token value = takeover.values[event.who];
  const bool of_readers = is_shared(event.token);
  const std::vector<Token> holders = of_readers ? server.readers(now) : std::vector<Token>{value};
  const bool done = server.revoke(value, now);
  const Token left = server.owner(now);
  if (left == kNoToken || left == sim::revoked(value)) takeover.revoked |= 1U << event.who;
  if (!done) return;
  for (const Token each : holders) {
    checks_[takeover.lock].revoked(each);
    if (of_readers) takeover.readers.push_back(each);
    if (random_.percent(takeover.untold_percent)) continue;  // nobody listens
    events_.add(EventKind::told, now + random_.between(schedule_->delay_low, schedule_->delay_high),
                client_of(each), session_of(each));
  }
  if (story_.on()) {
    story_.say(now, server_name(event.who), "has " + token_text(value) + " revoked");
  }
}

/// Only what has been revoked on a quorum is deleted anywhere.
void World::remove(const Event& event) {
  Takeover& takeover = *std::ranges::find(takeovers_, event.token, &Takeover::token);
  const Token value = takeover.values[event.who];
  if (!is_quorum(takeover.revoked)) return;
  const bool before = is_quorum(takeover.deleted);
  if (!keys(takeover.lock, event.who).remove(value, takeover.readers, events_.now())) return;
  takeover.deleted |= 1U << event.who;
  for (const Token each : takeover.readers) {
    checks_[takeover.lock].deleted(each);
    if (before || !is_quorum(takeover.deleted)) continue;
    checks_[takeover.lock].seized(each, events_.now());
  }
  if (story_.on()) {
    story_.say(events_.now(), server_name(event.who),
               "has " + token_text(value) + " deleted by force");
  }
}

bool World::is_quorum(std::uint32_t servers) const {
  return static_cast<std::size_t>(std::popcount(servers)) > schedule_->servers / 2;
}

void World::take_away(const Event& event) {
  if (stopped_[event.who] > 0 || crashed_[event.who] > 0) return;
  event.kind == EventKind::remove ? remove(event) : revoke(event);
}

/// `redlock release NAME TOKEN`, of a lock that is kept: it reaches one server after the other, and
/// some not.
void World::hand_back(const Fault& fault) {
  const Time now = events_.now();
  Token token = plain(keys(fault.lock, real(fault.server)).owner(now));
  if (is_shared(token)) {
    const std::vector<Token> readers = keys(fault.lock, real(fault.server)).readers(now);
    if (readers.empty()) return;
    token = readers[random_.below(static_cast<std::uint32_t>(readers.size()))];
  }
  if (token == kNoToken || token == kForeignType || client_of(token) >= schedule_->clients) return;
  if (!clients_[client_of(token)].keeps(token)) return;
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    if (real(server) != server || random_.percent(10)) continue;
    const Time length = random_.between(Time::zero(), fault.length);
    if (keys(fault.lock, server).lasts(token, now + length + milliseconds(10))) {
      owed_.push_back({token, server, keys(fault.lock, server).memory(), now + length});
    }
    events_.add(EventKind::hand_back, now + length, server, 0, token);
  }
}

void World::carry_out_release(const Event& event) {
  if (stopped_[event.who] > 0 || crashed_[event.who] > 0) return;
  const Token token = event.token;
  Server& server = keys_of(token, event.who);
  const redis::LockContext context =
      lock_context(lock_key(lock_of(token)), kNoWaiter, scene_.settings);
  const bool released =
      is_released(server.execute(encode_owners_release(token, context), events_.now()));
  const bool owed = std::ranges::any_of(owed_, [&](const Owed& each) {
    return each.token == token && each.server == event.who && each.memory == server.memory() &&
           each.at == event.at;
  });
  const bool denied = owed && !released;
  if (story_.on()) {
    story_.say(events_.now(), server_name(event.who),
               "carries out its owner's release of " + token_text(token) +
                   (released ? "" : ", and finds none"));
  }
  checks_of(token).handed_back(event.who, server.memory(), token, denied, events_.now());
  if (random_.percent(30)) return;  // nobody listens
  events_.add(EventKind::word,
              events_.now() + random_.between(schedule_->delay_low, schedule_->delay_high),
              client_of(token), session_of(token));
}

/// What keepers may do to a lock that has an owner.
void World::check_kept(std::size_t server, const Request& request, const lock::Answer& answer) {
  if (client_of(request.token) >= schedule_->clients) return;
  Checks& checks = checks_of(request.token);
  if (request.op == lock::Op::repair && std::holds_alternative<lock::Granted>(answer)) {
    checks.put_back(server, keys_of(request.token, server).memory(), request.token, events_.now());
  }
  const bool deleted = lock::is_release(request.op) && is_released(answer);
  if (deleted && clients_[client_of(request.token)].keeps(request.token)) {
    checks.kept_deleted(request.token, events_.now());
  }
}

}  // namespace redlock::sim
