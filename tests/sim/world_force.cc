// SPDX-License-Identifier: MIT
//
// `redlock release --force` in a world, with --now or without.
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
  if (is_shared(token)) return seize_readers(fault);
  if (fault.kind == Kind::seize) return seize(token, fault);
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    if (real(server) != server || random_.percent(10)) continue;
    const Time at = events_.now() + random_.between(Time::zero(), fault.length);
    events_.add(EventKind::revoke, at, server, 0, token);
  }
}

/// With --now: if a quorum shows the lock, it is revoked where it is, and then deleted there, and
/// buried where there is nothing.
void World::seize(Token token, const Fault& fault) {
  const Time now = events_.now();
  std::uint32_t shown = 0;
  std::uint32_t asked = 0;
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    if (stopped_[server] > 0 || crashed_[server] > 0 || random_.percent(20)) continue;
    const Token value = keys_of(token, server).owner(now);
    const bool shows = value != kNoToken && plain(value) == token;
    if (shows) shown |= 1U << server;
    if (shows || value == kNoToken) asked |= 1U << server;
  }
  if (!is_quorum(shown)) return;
  takeovers_.push_back({token});
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    const Time first = now + random_.between(Time::zero(), fault.length);
    const Time then = now + fault.length + milliseconds(1);
    const Time second = then + random_.between(Time::zero(), fault.length);
    if ((shown >> server & 1U) != 0) events_.add(EventKind::revoke, first, server, 0, token);
    if ((asked >> server & 1U) != 0) events_.add(EventKind::remove, second, server, 0, token);
  }
}

/// The same for a shared lock, with --now or without: from all readers.
void World::seize_readers(const Fault& fault) {
  const Time now = events_.now();
  const bool deletes = fault.kind == Kind::seize;
  // No server has this as a value: it names the takeover.
  Takeover takeover{.token = shared(kReaderBit | Token{takeovers_.size()} << 16U),
                    .lock = fault.lock};
  std::uint32_t shown = 0;
  std::uint32_t asked = 0;
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    if (stopped_[server] > 0 || crashed_[server] > 0 || random_.percent(deletes ? 20 : 10))
      continue;
    if (real(server) != server) continue;
    const Token value = keys(fault.lock, server).owner(now);
    if (is_shared(value)) shown |= 1U << server;
    if (is_shared(value) || value == kNoToken) asked |= 1U << server;
    takeover.values[server] = value == kNoToken ? takeover.token : plain(value);
    for (const Token each : keys(fault.lock, server).readers(now)) takeover.readers.push_back(each);
  }
  if (deletes && !is_quorum(shown)) return;
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
void World::revoke_readers(const Event& event, Takeover& takeover) {
  Server& server = keys(takeover.lock, event.who);
  const Time now = events_.now();
  const std::vector<Token> readers = server.readers(now);
  const Token value = takeover.values[event.who];
  const bool done = server.revoke(value, now);
  const Token left = server.owner(now);
  if (left == kNoToken || left == sim::revoked(value)) takeover.revoked |= 1U << event.who;
  if (!done) return;
  for (const Token each : readers) {
    checks_[takeover.lock].revoked(each);
    takeover.readers.push_back(each);
    if (random_.percent(40)) continue;  // nobody listens
    events_.add(EventKind::told, now + random_.between(schedule_->delay_low, schedule_->delay_high),
                client_of(each), session_of(each));
  }
  if (story_.on()) {
    story_.say(now, server_name(event.who), "has " + token_text(value) + " revoked");
  }
}

void World::remove_readers(const Event& event, Takeover& takeover) {
  Server& server = keys(takeover.lock, event.who);
  if (!is_quorum(takeover.revoked)) return;
  const bool before = is_quorum(takeover.deleted);
  if (!server.remove_shared(takeover.values[event.who], takeover.readers, events_.now())) return;
  takeover.deleted |= 1U << event.who;
  for (const Token each : takeover.readers) {
    checks_[takeover.lock].deleted(each);
    if (before || !is_quorum(takeover.deleted)) continue;
    checks_[takeover.lock].seized(each, events_.now());
  }
  if (story_.on()) {
    story_.say(events_.now(), server_name(event.who),
               "has " + token_text(takeover.values[event.who]) + " deleted by force");
  }
}

bool World::is_quorum(std::uint32_t servers) const {
  return static_cast<std::size_t>(std::popcount(servers)) > schedule_->servers / 2;
}

void World::take_away(const Event& event) {
  if (stopped_[event.who] > 0 || crashed_[event.who] > 0) return;
  if (is_shared(event.token)) {
    Takeover& takeover = *std::ranges::find(takeovers_, event.token, &Takeover::token);
    return event.kind == EventKind::remove ? remove_readers(event, takeover)
                                           : revoke_readers(event, takeover);
  }
  if (event.kind == EventKind::remove) {
    remove(event);
  } else {
    revoke(event);
  }
}

/// Only what has been revoked on a quorum is deleted anywhere.
void World::remove(const Event& event) {
  const auto takeover = std::ranges::find(takeovers_, event.token, &Takeover::token);
  if (!is_quorum(takeover->revoked)) return;
  const bool before = is_quorum(takeover->deleted);
  if (!keys_of(event.token, event.who).remove(event.token, events_.now())) return;
  takeover->deleted |= 1U << event.who;
  checks_of(event.token).deleted(event.token);
  if (story_.on()) {
    story_.say(events_.now(), server_name(event.who),
               "has " + token_text(event.token) + " deleted by force");
  }
  if (!before && is_quorum(takeover->deleted)) {
    checks_of(event.token).seized(event.token, events_.now());
  }
}

void World::revoke(const Event& event) {
  Server& server = keys_of(event.token, event.who);
  const bool done = server.revoke(event.token, events_.now());
  const Token left = server.owner(events_.now());
  const auto takeover = std::ranges::find(takeovers_, event.token, &Takeover::token);
  if (takeover != takeovers_.end() && (left == kNoToken || left == sim::revoked(event.token))) {
    takeover->revoked |= 1U << event.who;
  }
  if (!done) return;
  checks_of(event.token).revoked(event.token);
  if (story_.on()) {
    story_.say(events_.now(), server_name(event.who),
               "has " + token_text(event.token) + " revoked");
  }
  if (random_.percent(takeover == takeovers_.end() ? 30 : 60)) return;  // nobody listens
  events_.add(EventKind::told,
              events_.now() + random_.between(schedule_->delay_low, schedule_->delay_high),
              client_of(event.token), session_of(event.token));
}

}  // namespace redlock::sim
