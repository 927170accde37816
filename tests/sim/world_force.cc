// SPDX-License-Identifier: MIT
//
// What people do to locks in a world: `redlock release --force`, with --now or without, and the
// release of a lock that is kept for its owner, with what its keeper may do.
#include <algorithm>
#include <bit>

#include "world.h"

namespace redlock::sim {

using namespace std::chrono_literals;
using Kind = Fault::Kind;

/// `redlock release --force` on whoever holds the lock on that server: it reaches one server after
/// the other, and some not. With --now: if a quorum shows the lock, it is revoked where it is, and
/// then deleted there, and buried where there is nothing. A shared lock is taken from all readers.
void World::force(const Fault& fault) {
  const Time now = timeline_.now();
  const Token token = plain(keys(fault.lock, real(fault.server)).owner(now));
  if (token == kNoToken || token == kForeignType || client_of(token) >= schedule_->clients) return;
  // Nobody would give up the hold of a run that failed.
  const bool deletes = fault.kind == Kind::seize || checks_[fault.lock].leaves_hold(token);
  const bool readers = is_shared(token);
  Takeover takeover{.token = token, .lock = fault.lock};
  takeover.untold_percent = readers ? 40 : deletes ? 60 : 30;
  takeover.values.fill(token);
  std::uint32_t shown = 0;
  std::uint32_t asked = 0;
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    const bool twin = real(server) != server;
    if ((!twin && !is_up(server)) || random_.percent(deletes ? 20 : 10) || twin) continue;
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
  const std::size_t which = takeovers_.size();
  takeovers_.push_back(takeover);
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    const Time first = now + random_.between(0s, fault.length);
    const Time then = now + fault.length + 1ms;
    const Time second = then + random_.between(0s, fault.length);
    if ((shown >> server & 1U) != 0) {
      timeline_.at(first, [this, which, server] { revoke(which, server); });
    }
    // The run may have failed since it was looked at.
    timeline_.at(then, [=, this] {
      if (!deletes && !checks_[fault.lock].leaves_hold(token)) return;
      if ((asked >> server & 1U) == 0) return;
      timeline_.at(second, [this, which, server] { remove(which, server); });
    });
  }
}

/// Readers that have entered since they were seen lose their lock, too.
void World::revoke(std::size_t which, std::uint8_t index) {
  if (!is_up(index)) return;
  Takeover& takeover = takeovers_[which];
  Server& server = keys(takeover.lock, index);
  const Time now = timeline_.now();
  const Token value = takeover.values[index];
  const bool of_readers = is_shared(takeover.token);
  const std::vector<Token> holders = of_readers ? server.readers(now) : std::vector<Token>{value};
  const bool done = server.revoke(value, now);
  const Token left = server.owner(now);
  if (left == kNoToken || left == sim::revoked(value)) takeover.revoked |= 1U << index;
  if (!done) return;
  for (const Token each : holders) {
    checks_[takeover.lock].revoked(each);
    if (of_readers) takeover.readers.push_back(each);
    if (random_.percent(takeover.untold_percent)) continue;  // nobody listens
    timeline_.after(random_.between(schedule_->delay_low, schedule_->delay_high),
                    [this, each] { clients_[client_of(each)].told(session_of(each)); });
  }
  if (story_.on()) {
    story_.say(now, server_name(index), "has " + token_text(value) + " revoked");
  }
}

/// Only what has been revoked on a quorum is deleted anywhere.
void World::remove(std::size_t which, std::uint8_t index) {
  if (!is_up(index)) return;
  Takeover& takeover = takeovers_[which];
  const Token value = takeover.values[index];
  if (!is_quorum(takeover.revoked)) return;
  const bool before = is_quorum(takeover.deleted);
  if (!keys(takeover.lock, index).remove(value, takeover.readers, timeline_.now())) return;
  takeover.deleted |= 1U << index;
  for (const Token each : takeover.readers) {
    checks_[takeover.lock].deleted(each);
    if (before || !is_quorum(takeover.deleted)) continue;
    checks_[takeover.lock].seized(each);
  }
  if (story_.on()) {
    story_.say(timeline_.now(), server_name(index),
               "has " + token_text(value) + " deleted by force");
  }
}

bool World::is_quorum(std::uint32_t servers) const {
  return static_cast<std::size_t>(std::popcount(servers)) > schedule_->servers / 2;
}

/// `redlock release NAME TOKEN`, of a lock that is kept: it reaches one server after the other, and
/// some not.
void World::hand_back(const Fault& fault) {
  const Time now = timeline_.now();
  Token token = plain(keys(fault.lock, real(fault.server)).owner(now));
  if (is_shared(token)) {
    const std::vector<Token> readers = keys(fault.lock, real(fault.server)).readers(now);
    if (readers.empty()) return;
    token = readers[random_.index(readers.size())];
  }
  if (token == kNoToken || token == kForeignType || client_of(token) >= schedule_->clients) return;
  if (!clients_[client_of(token)].keeps(token)) return;
  for (std::uint8_t server = 0; server < schedule_->servers; ++server) {
    if (real(server) != server || random_.percent(10)) continue;
    const Time length = random_.between(0s, fault.length);
    if (keys(fault.lock, server).lasts(token, now + length + 10ms)) {
      owed_.push_back({token, server, keys(fault.lock, server).memory(), now + length});
    }
    timeline_.after(length, [this, token, server] { carry_out_release(token, server); });
  }
}

void World::carry_out_release(Token token, std::uint8_t index) {
  if (!is_up(index)) return;
  Server& server = keys_of(token, index);
  const redis::LockContext context =
      lock_context(lock_name(lock_of(token)), kNoWaiter, scene_.settings);
  const bool released =
      is_released(server.execute(encode_owners_release(token, context), timeline_.now()));
  const bool owed = std::ranges::any_of(owed_, [&](const Owed& each) {
    return each.token == token && each.server == index && each.memory == server.memory() &&
           each.at == timeline_.now();
  });
  const bool denied = owed && !released;
  if (story_.on()) {
    story_.say(timeline_.now(), server_name(index),
               "carries out its owner's release of " + token_text(token) +
                   (released ? "" : ", and finds none"));
  }
  checks_of(token).handed_back(index, server.memory(), token, denied);
  if (random_.percent(30)) return;  // nobody listens
  timeline_.after(random_.between(schedule_->delay_low, schedule_->delay_high),
                  [this, token] { clients_[client_of(token)].hear_released(session_of(token)); });
}

/// What keepers may do to a lock that has an owner.
void World::check_kept(std::size_t server, const Request& request, const lock::Answer& answer) {
  if (client_of(request.token) >= schedule_->clients) return;
  Checks& checks = checks_of(request.token);
  if (request.op == lock::Op::repair && std::holds_alternative<lock::Granted>(answer)) {
    checks.put_back(server, keys_of(request.token, server).memory(), request.token);
  }
  const bool deleted = lock::is_release(request.op) && is_released(answer);
  if (deleted && clients_[client_of(request.token)].keeps(request.token)) {
    checks.kept_deleted(request.token);
  }
}

}  // namespace redlock::sim
