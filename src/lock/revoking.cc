// SPDX-License-Identifier: MIT
#include "lock/revoking.h"

#include "lock/timing.h"
#include "lock/value.h"

namespace redlock::lock {

namespace {

/// Only the holder makes a lock cool, at the end of its job: that is as good as a release.
bool cooling_for(std::string_view token, const NotMine& not_mine) {
  const Value value = read_value(not_mine.blocker);
  return !token.empty() && value.kind == Value::Kind::cooling && value.token == token;
}

}  // namespace

std::string_view owner_of(const Sighting& sighting) {
  const State state = state_of(sighting);
  if (state == State::free || state == State::foreign) return {};
  return read_value(sighting.value).token;
}

Tally count(const std::vector<std::optional<Answer>>& answers, const std::vector<Seen>& seen) {
  Tally tally;
  for (ServerIndex server = 0; server < answers.size(); ++server) {
    if (!answers[server]) continue;
    const Answer& answer = *answers[server];
    const auto* not_mine = std::get_if<NotMine>(&answer);
    if (std::holds_alternative<Released>(answer)) {
      ++tally.taken;
    } else if (not_mine != nullptr) {
      const bool ended = cooling_for(owner_of(std::get<Sighting>(seen[server])), *not_mine);
      ++(ended ? tally.gone : tally.changed);
    } else {
      ++(std::holds_alternative<Missing>(answer) ? tally.gone : tally.failed);
    }
  }
  return tally;
}

TakeoverResult revoked(const Tally& tally, std::size_t servers) {
  const std::size_t needed = blocking_minority(servers);
  if (tally.taken >= needed) return TakeoverResult::yes;
  if (tally.changed > 0) return TakeoverResult::changed;
  if (tally.taken + tally.gone < needed) return TakeoverResult::unreachable;
  return tally.taken > 0 ? TakeoverResult::yes : TakeoverResult::gone;
}

TakeoverResult removed(const Tally& tally, std::size_t free, std::size_t servers) {
  if (tally.taken + tally.gone + free >= quorum(servers)) {
    return tally.taken > 0 ? TakeoverResult::yes : TakeoverResult::gone;
  }
  return tally.changed > 0 ? TakeoverResult::changed : TakeoverResult::unreachable;
}

}  // namespace redlock::lock
