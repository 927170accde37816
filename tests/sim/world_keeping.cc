// SPDX-License-Identifier: MIT
//
// A lock that is kept for its owner, in a world: the owner releases it, and what its keeper may do.
#include <algorithm>

#include "world.h"

namespace redlock::sim {

using std::chrono::milliseconds;

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
  checks_of(token).handed_back(event.who, server.memory(), token, denied, events_.now());
  if (random_.percent(30)) return;  // nobody listens
  events_.add(EventKind::word,
              events_.now() + random_.between(schedule_->delay_low, schedule_->delay_high),
              client_of(token), session_of(token));
}

/// What keepers may do to a lock that has an owner.
void World::check_kept(std::size_t server, const Request& request, const Response& response) {
  if (client_of(request.token) >= schedule_->clients) return;
  Checks& checks = checks_of(request.token);
  if (request.op == lock::Op::repair && response.word == Response::Word::granted) {
    checks.put_back(server, keys_of(request.token, server).memory(), request.token, events_.now());
  }
  const bool deleted = lock::is_release(request.op) && response.word == Response::Word::released;
  if (deleted && clients_[client_of(request.token)].keeps(request.token)) {
    checks.kept_deleted(request.token, events_.now());
  }
}

}  // namespace redlock::sim
