// SPDX-License-Identifier: MIT
#include "lock/once.h"

#include <algorithm>
#include <utility>

namespace redlock::lock {

using std::chrono::milliseconds;

namespace {

milliseconds in_milliseconds(Instant instant) {
  return std::chrono::floor<milliseconds>(instant.time_since_epoch());
}

/// What the server's clock showed when it answered.
std::optional<milliseconds> clock_of(const Answer& answer) {
  milliseconds clock{};
  if (const auto* grant = std::get_if<Granted>(&answer)) clock = grant->clock;
  if (const auto* refusal = std::get_if<Refused>(&answer)) clock = refusal->clock;
  if (clock == milliseconds::zero()) return std::nullopt;
  return clock;
}

}  // namespace

void Once::record(const Reply& reply, Instant now) {
  Place& place = places_.at(reply.ask.server);
  if (const auto clock = clock_of(reply.answer)) {
    // Rounded up: the clock less that is rounded down.
    place.ahead = *clock - in_milliseconds(now) - milliseconds(1);
    place.has_mark = false;
  } else if (const auto* done = std::get_if<Done>(&reply.answer)) {
    place.has_mark = true;
    const Instant began = reply.sent - done->age;
    if (!found_ || began >= found_began_) {
      found_ = *done;
      found_began_ = began;
    }
  }
  if (reply.ask.op != Op::mark || place.state == State::marked) return;
  place.last = reply.answer;
  place.state = std::holds_alternative<Marked>(reply.answer) ? State::marked : State::failed;
}

void Once::mark(Instant began, Duration period, Effects& effects) {
  for (Place& place : places_) place.has_mark = false;
  begin(began, period, {}, effects);
}

void Once::copy(Effects& effects) {
  if (found_) begin(found_began_, found_->age + found_->left, found_->who, effects);
}

void Once::begin(Instant began, Duration period, std::string who, Effects& effects) {
  began_ = began;
  period_ = period;
  who_ = std::move(who);
  for (ServerIndex server = 0; server < places_.size(); ++server) {
    Place& place = places_[server];
    if (!place.ahead || place.has_mark) continue;
    place.state = State::asked;
    ask(server, Op::mark, effects);
  }
}

void Once::retry(Effects& effects) {
  for (ServerIndex server = 0; server < places_.size(); ++server) {
    if (places_[server].state != State::failed) continue;
    places_[server].state = State::asked;
    ask(server, Op::mark, effects);
  }
}

void Once::undo(Effects& effects) {
  for (ServerIndex server = 0; server < places_.size(); ++server) {
    if (places_[server].state == State::idle) continue;
    places_[server].state = State::idle;
    ask(server, Op::unmark, effects);
  }
}

/// Of no attempt: a release takes back what was asked for its attempt and not sent yet.
void Once::ask(ServerIndex server, Op op, Effects& effects) const {
  effects.emplace_back(Ask{.server = server,
                           .op = op,
                           .attempt = kNoAttempt,
                           .life = period_,
                           .began = in_milliseconds(began_) + *places_[server].ahead,
                           .who = who_});
}

bool Once::settled() const {
  return std::none_of(places_.begin(), places_.end(), [](const Place& place) {
    return place.state == State::asked || place.state == State::failed;
  });
}

bool Once::has_failed() const {
  return std::any_of(places_.begin(), places_.end(),
                     [](const Place& place) { return place.state == State::failed; });
}

std::size_t Once::marked() const {
  return static_cast<std::size_t>(
      std::count_if(places_.begin(), places_.end(),
                    [](const Place& place) { return place.state == State::marked; }));
}

std::vector<Complaint> Once::complaints() const {
  std::vector<Complaint> complaints;
  for (ServerIndex server = 0; server < places_.size(); ++server) {
    const Place& place = places_[server];
    if (place.state != State::marked) complaints.push_back({server, place.last});
  }
  return complaints;
}

}  // namespace redlock::lock
