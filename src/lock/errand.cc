// SPDX-License-Identifier: MIT
#include "lock/errand.h"

#include <algorithm>

#include "lock/attempt.h"

namespace redlock::lock {

namespace {

constexpr Duration kRetry = std::chrono::milliseconds(100);

bool reaches_nobody(const Answer& answer) {
  return std::holds_alternative<Unreachable>(answer);
}

}  // namespace

Errand::Errand(std::size_t servers, AttemptId attempt, const Terms& terms, Instant now)
    : terms_(terms),
      attempt_(attempt),
      places_(servers),
      next_round_(now),
      limit_(now + terms.patience) {}

Instant Errand::deadline() const {
  return state_ == State::trying ? std::min(limit_, next_round_) : limit_;
}

Effects Errand::step(const Event& event, Instant now) {
  Effects effects;
  if (const auto* reply = std::get_if<Reply>(&event)) {
    record(*reply, now, effects);
  } else if (std::holds_alternative<Tick>(event)) {
    tick(now, effects);
  }
  return effects;
}

void Errand::tick(Instant now, Effects& effects) {
  if (state_ == State::trying && now >= next_round_) ask_round(effects);
  // Every server is asked once, however little is borne.
  if (state_ == State::trying && now >= limit_) decide(State::unavailable, now, Duration::zero());
  check_finished(now);
}

/// A renewal is asked of those again that have renewed: the oldest yes may be the next to expire. A
/// release is over where it was carried out.
void Errand::ask_round(Effects& effects) {
  ++round_;
  next_round_ = kNever;
  for (ServerIndex server = 0; server < places_.size(); ++server) {
    Place& place = places_[server];
    if (place.asked || place.word == Word::no) continue;
    if (terms_.op == Op::leave && place.word == Word::yes) continue;
    place.asked = true;
    effects.emplace_back(
        Ask{.server = server,
            .op = terms_.op,
            .attempt = attempt_,
            .round = round_,
            .life = terms_.op == Op::renew ? terms_.timing.ttl : Duration::zero()});
  }
}

void Errand::record(const Reply& reply, Instant now, Effects& effects) {
  Place& place = places_.at(reply.ask.server);
  place.asked = false;
  take_word(place, reply);
  if (state_ == State::trying) settle(now);
  if (state_ == State::done && terms_.op == Op::renew) repair(effects);
  check_finished(now);
}

void Errand::take_word(Place& place, const Reply& reply) const {
  place.last = reply.answer;
  if (const auto* silence = std::get_if<Unreachable>(&reply.answer)) {
    place.failed_before = true;
    place.permanent = silence->permanent;
    return;
  }
  const bool yes = std::holds_alternative<Renewed>(reply.answer) ||
                   std::holds_alternative<Granted>(reply.answer) ||
                   (terms_.op == Op::leave && std::holds_alternative<Released>(reply.answer));
  const bool perhaps_before = terms_.op == Op::leave && place.failed_before;
  place.word = yes || perhaps_before ? Word::yes : Word::no;
  place.expires = place.word == Word::yes ? vote_expiry(reply.sent, terms_.timing) : Instant{};
  if (std::holds_alternative<Renewed>(reply.answer)) place.yes_round = reply.ask.round;
}

void Errand::settle(Instant now) {
  const std::size_t servers = places_.size();
  const auto permanent =
      static_cast<std::size_t>(std::ranges::count_if(places_, &Place::permanent));
  const bool held = terms_.op == Op::leave || valid_until() > now;
  if (saying(Word::yes) >= quorum(servers) && held) {
    decide(State::done, now, terms_.linger);
  } else if (saying(Word::no) >= blocking_minority(servers)) {
    decide(State::not_ours, now, terms_.linger);
  } else if (permanent >= blocking_minority(servers)) {
    decide(State::unavailable, now, terms_.linger);
  } else if (next_round_ == kNever && std::ranges::any_of(places_, [](const Place& place) {
               return !place.asked && reaches_nobody(place.last);
             })) {
    next_round_ = now + kRetry;
  }
}

/// A server that lost the key gets it back if a quorum has renewed in the present round. Answers of
/// several rounds prove nothing: the lock may have been deleted by force between them.
void Errand::repair(Effects& effects) {
  if (!quorum_renewed()) return;
  for (ServerIndex server = 0; server < places_.size(); ++server) {
    Place& place = places_[server];
    if (place.repaired || !std::holds_alternative<Missing>(place.last)) continue;
    place.repaired = true;
    place.asked = true;
    effects.emplace_back(Ask{.server = server,
                             .op = Op::repair,
                             .attempt = attempt_,
                             .round = round_,
                             .life = terms_.timing.ttl});
  }
}

void Errand::decide(State state, Instant now, Duration linger) {
  state_ = state;
  limit_ = now + linger;
}

void Errand::check_finished(Instant now) {
  if (state_ == State::trying) return;
  finished_ = now >= limit_ || std::ranges::none_of(places_, &Place::asked);
}

Instant Errand::valid_until() const {
  std::vector<Instant> expiries;
  expiries.reserve(places_.size());
  for (const Place& place : places_) expiries.push_back(place.expires);
  return quorum_expiry(std::move(expiries));
}

bool Errand::quorum_renewed() const {
  const auto renewed = std::ranges::count(places_, round_, &Place::yes_round);
  return round_ > 0 && static_cast<std::size_t>(renewed) >= quorum(places_.size());
}

std::size_t Errand::saying(Word word) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(places_, [word](const Place& place) { return place.word == word; }));
}

std::size_t Errand::confirmed() const {
  return saying(Word::yes);
}

std::vector<Complaint> Errand::complaints() const {
  std::vector<Complaint> complaints;
  for (ServerIndex server = 0; server < places_.size(); ++server) {
    const Place& place = places_[server];
    if (place.word == Word::yes) continue;
    complaints.push_back({server, place.last});
  }
  return complaints;
}

}  // namespace redlock::lock
