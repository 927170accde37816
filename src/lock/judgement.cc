// SPDX-License-Identifier: MIT
#include "lock/judgement.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "lock/timing.h"
#include "lock/token.h"
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
  return sighting.value + " " + sighting.owner;
}

/// The state of the lock according to servers that name the same holder.
State state_of(const std::vector<Seen>& seen, const std::vector<ServerIndex>& agreeing) {
  const auto says = [&](State state) {
    return static_cast<std::size_t>(std::ranges::count_if(agreeing, [&](ServerIndex server) {
      return state_of(std::get<Sighting>(seen[server])) == state;
    }));
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

}  // namespace redlock::lock
