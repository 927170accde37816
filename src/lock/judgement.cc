// SPDX-License-Identifier: MIT
#include "lock/judgement.h"

#include <map>

#include "lock/timing.h"
#include "lock/value.h"

namespace redlock::lock {

namespace {

/// The same text for servers that name the same holder. A release or a revocation reaches one
/// server after the other, but all the while the lock belongs to its token.
std::string identity(const Sighting& sighting) {
  if (sighting.kind == Sighting::Kind::value) {
    const std::string_view token = read_value(sighting.value).token;
    return is_shared(token) ? "shared" : "token " + std::string(token);
  }
  // The holder of a RedissonRedLock has another name on each server.
  return sighting.value;
}

/// The state of the lock according to servers that name the same holder.
State state_of(const std::vector<Seen>& seen, const std::vector<ServerIndex>& agreeing) {
  const auto says = [&](State state) {
    return how_many(agreeing, [&](ServerIndex server) {
      return state_of(std::get<Sighting>(seen[server])) == state;
    });
  };
  if (says(State::held) >= quorum(seen.size())) return State::held;
  for (const State state : {State::cooling, State::revoked, State::held}) {
    if (says(state) > 0) return state;
  }
  return state_of(std::get<Sighting>(seen[agreeing.front()]));
}

std::uint64_t fence_of(const std::vector<Seen>& seen, const std::vector<ServerIndex>& agreeing) {
  std::map<std::uint64_t, std::size_t> votes;
  for (const ServerIndex server : agreeing) ++votes[std::get<Sighting>(seen[server]).fence];
  const auto most = std::ranges::find_if(
      votes, [&](const auto& vote) { return vote.second >= quorum(seen.size()); });
  return most == votes.end() ? 0 : most->first;
}

}  // namespace

State state_of(const Sighting& sighting) {
  if (sighting.kind == Sighting::Kind::nothing) return State::free;
  // If the holder's record cannot be read, the form of the token shows that the lock is redlock's.
  const Value value = read_value(sighting.value);
  const bool known = is_token(value.token) || is_shared(value.token);
  const bool ours = sighting.kind == Sighting::Kind::value && (known || !sighting.holder.empty());
  if (!ours) return State::foreign;
  if (value.kind == Value::Kind::cooling) return State::cooling;
  return value.kind == Value::Kind::revoked ? State::revoked : State::held;
}

Judgement judge(const std::vector<Seen>& seen) {
  Judgement judgement;
  std::map<std::string, std::vector<ServerIndex>> camps;
  for (ServerIndex server = 0; server < seen.size(); ++server) {
    const auto* sighting = std::get_if<Sighting>(&seen[server]);
    if (sighting == nullptr) continue;
    ++judgement.answered;
    camps[identity(*sighting)].push_back(server);
  }
  for (auto& [name, servers] : camps) {
    if (servers.size() < quorum(seen.size())) continue;
    judgement.state = state_of(seen, servers);
    judgement.fence = fence_of(seen, servers);
    judgement.agreeing = std::move(servers);
    break;  // only one holder can have a quorum
  }
  return judgement;
}

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
      // Only the holder makes a lock cool, at the end of its job: that is as good as a release.
      const std::string_view owner = owner_of(std::get<Sighting>(seen[server]));
      const Value now = read_value(not_mine->blocker);
      const bool ended = !owner.empty() && now.kind == Value::Kind::cooling && now.token == owner;
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
