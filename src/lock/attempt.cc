// SPDX-License-Identifier: MIT
#include "lock/attempt.h"

#include <map>

#include "lock/value.h"

namespace redlock::lock {

std::string_view holder_of(std::string_view value) {
  const std::string_view token = read_value(value).token;
  if (!is_shared(token)) return token;
  // Readers, and those of each number of slots, exclude one another.
  return slot_of(token).slots == 0 ? "shared" : token.substr(sizeof "shared:pNN" - 1, 2);
}

std::vector<Ask> Attempt::begin_round(std::uint32_t round, Ticket ticket, const Timing& timing,
                                      const std::vector<bool>& to_ask) {
  std::vector<Ask> asks;
  for (ServerIndex server = 0; server < votes_.size(); ++server) {
    Vote& vote = votes_[server];
    vote.reported = vote.state != VoteState::asked;
    if (vote.state != VoteState::absent && vote.state != VoteState::refused) continue;
    if (!to_ask.at(server)) continue;
    vote.state = VoteState::asked;
    vote.reported = false;
    asks.push_back({.server = server,
                    .op = Op::acquire,
                    .attempt = id_,
                    .round = round,
                    .life = timing.life(),
                    .once = timing.once,
                    .ticket = ticket,
                    .slot = slot_});
  }
  return asks;
}

void Attempt::record(const Reply& reply, const Timing& timing) {
  Vote& vote = votes_.at(reply.ask.server);
  vote.reported = true;
  vote.permanent = false;
  if (const auto* grant = std::get_if<Granted>(&reply.answer)) {
    vote.state = VoteState::granted;
    vote.grant = *grant;
    vote.expires = vote_expiry(reply.sent, timing);
  } else if (const auto* refusal = std::get_if<Refused>(&reply.answer)) {
    vote.state = VoteState::refused;
    vote.refusal = *refusal;
  } else if (std::holds_alternative<Done>(reply.answer) ||
             std::holds_alternative<Superseded>(reply.answer)) {
    vote.state = VoteState::done;
  } else if (const auto* unreachable = std::get_if<Unreachable>(&reply.answer)) {
    vote.state = unreachable->maybe_applied ? VoteState::uncertain : VoteState::absent;
    vote.permanent = unreachable->permanent;
  }
}

Verdict Attempt::verdict(Instant now, const Timing& timing) const {
  const std::size_t needed = quorum(votes_.size());
  std::size_t granted = 0;
  std::size_t pending = 0;
  std::size_t answered = 0;
  std::size_t same_blocker = 0;
  std::map<std::string_view, std::size_t> blockers;
  for (const Vote& vote : votes_) {
    const bool refused = vote.state == VoteState::refused;
    granted += counts(vote, now) ? 1 : 0;
    pending += vote.reported ? 0 : 1;
    answered += refused || vote.state == VoteState::granted ? 1 : 0;
    if (refused && !vote.refusal.turn) {
      same_blocker = std::max(same_blocker, ++blockers[holder_of(vote.refusal.blocker)]);
    }
  }

  if (same_server()) return Verdict::same_server;
  // One server that knows of a successful run is enough, even if a quorum has forgotten it. So we
  // wait for all servers; DoneMarks then copies the mark to the servers that lack it.
  if (pending > 0 && (done() || (granted >= needed && timing.once > Duration::zero()))) {
    return Verdict::pending;
  }
  if (done()) return Verdict::done;
  if (join_refused()) return Verdict::split;
  if (granted >= needed) {
    if (valid_until() - now < timing.needed_to_start()) return Verdict::split;
    if (trustworthy(now)) return Verdict::won;
    return pending > 0 ? Verdict::pending : Verdict::distrusted;
  }
  if (same_blocker >= needed) return Verdict::conflict;
  // Wait for missing answers if they can still change the outcome, or the name for it.
  if (pending > 0 && (granted + pending >= needed || same_blocker + pending >= needed ||
                      (answered < needed && answered + pending >= needed))) {
    return Verdict::pending;
  }
  return answered >= needed ? Verdict::split : Verdict::unavailable;
}

/// Any N - quorum + 1 servers share a server with the quorum of the previous holder, so this many
/// must have been running since then. A new installation has nothing to remember: every server
/// answers, grants, and knows of no earlier life.
bool Attempt::trustworthy(Instant now) const {
  if (is_join(id_)) return true;  // the lock exists, so the servers have forgotten nothing
  std::size_t trusted = 0;
  std::size_t maybe_new = 0;
  for (const Vote& vote : votes_) {
    if (!counts(vote, now)) continue;
    trusted += vote.grant.distrusted_for == std::chrono::seconds::zero() ? 1 : 0;
    maybe_new += vote.grant.may_be_new ? 1 : 0;
  }
  return trusted >= blocking_minority(votes_.size()) || maybe_new == votes_.size();
}

std::optional<std::pair<ServerIndex, ServerIndex>> Attempt::same_server() const {
  std::map<std::string_view, ServerIndex> seen;
  for (ServerIndex server = 0; server < votes_.size(); ++server) {
    const Vote& vote = votes_[server];
    if (vote.state != VoteState::granted || vote.grant.run_id.empty()) continue;
    const auto [first, added] = seen.emplace(vote.grant.run_id, server);
    if (!added) return std::pair(first->second, server);
  }
  return std::nullopt;
}

Instant Attempt::valid_until() const {
  return quorum_expiry(votes_, [](const Vote& vote) {
    return vote.state == VoteState::granted ? vote.expires : Instant{};
  });
}

std::vector<ServerIndex> Attempt::entered() const {
  std::vector<ServerIndex> servers;
  for (ServerIndex server = 0; server < votes_.size(); ++server) {
    const VoteState state = votes_[server].state;
    if (state == VoteState::absent || state == VoteState::refused) continue;
    if (state != VoteState::done) servers.push_back(server);
  }
  return servers;
}

std::optional<Duration> Attempt::turns_left() const {
  std::optional<Duration> left;
  for (const Vote& vote : votes_) {
    if (vote.state != VoteState::refused) continue;
    if (!vote.refusal.turn) return std::nullopt;
    const Duration length = vote.refusal.ttl_left.value_or(std::chrono::milliseconds::zero());
    left = std::max(left.value_or(length), length);
  }
  return left;
}

const Refused* Attempt::main_refusal() const {
  std::map<std::string_view, std::size_t> named;
  const Refused* main = nullptr;
  std::size_t most = 0;
  for (const Vote& vote : votes_) {
    if (vote.state != VoteState::refused || vote.refusal.turn) continue;
    const std::size_t count = ++named[holder_of(vote.refusal.blocker)];
    if (count > most) {
      most = count;
      main = &vote.refusal;
    }
  }
  if (main == nullptr) return main;
  // A server may have missed the holder's revocation, or its renewals: then the longest time to
  // live counts.
  const std::string_view holder = holder_of(main->blocker);
  for (const Vote& vote : votes_) {
    const Refused& other = vote.refusal;
    const bool names_another = other.turn || holder_of(other.blocker) != holder;
    if (vote.state != VoteState::refused || names_another) continue;
    if (read_value(other.blocker).kind == Value::Kind::revoked) return &other;
    const bool longer = main->ttl_left && (!other.ttl_left || *other.ttl_left > *main->ttl_left);
    if (other.blocker == main->blocker && longer) main = &other;
  }
  return main;
}

std::vector<std::pair<ServerIndex, Refused>> Attempt::revocable() const {
  const Refused* const main = main_refusal();
  const Value value = read_value(main == nullptr ? std::string_view() : main->blocker);
  if (main == nullptr || value.kind != Value::Kind::token) return {};
  // A server that has not answered yet may have the same token; of readers, each has its own.
  const bool shared = is_shared(value.token);
  bool known = shared;
  std::vector<std::pair<ServerIndex, Refused>> refusals;
  for (ServerIndex server = 0; server < votes_.size(); ++server) {
    const Vote& vote = votes_[server];
    const bool same = vote.state == VoteState::refused && !vote.refusal.turn &&
                      holder_of(vote.refusal.blocker) == holder_of(main->blocker);
    known = known || (same && !vote.refusal.holder.empty());
    if (same || !shared) refusals.emplace_back(server, same ? vote.refusal : *main);
  }
  if (!known) refusals.clear();
  return refusals;
}

}  // namespace redlock::lock
