// SPDX-License-Identifier: MIT
//
// What the checks make of servers that failed over to a replica without the vote.
#include <algorithm>
#include <bit>

#include "checks.h"

namespace redlock::sim {

void Checks::forgets(std::size_t server, Token token) {
  for (Forgotten& each : forgotten_) {
    if (each.token == token) each.servers |= 1U << server;
  }
  if (forgotten_by(token) == 0) forgotten_.push_back({token, 1U << server});
}

void Checks::remembers(std::size_t server, Token token) {
  for (Forgotten& each : forgotten_) {
    if (each.token == token) each.servers &= ~(1U << server);
  }
}

std::uint32_t Checks::forgotten_by(Token token) const {
  const auto found = std::ranges::find(forgotten_, token, &Forgotten::token);
  return found == forgotten_.end() ? 0 : found->servers;
}

/// Whether `by` may have the client's lock, too: a server that forgot the lock let `by` in, and too
/// few servers still have it to keep `by` from a quorum. With a vote on each of N servers, the
/// client is safe while fewer than half of them forget. With no more than a quorum of votes, it is
/// not safe when one server forgets. Both jobs run until the client's next renewal: then a quorum
/// says that the lock is gone ("unstopped"), or nobody answers and the lease ends ("outlived",
/// "beside").
bool Checks::is_forgotten(std::size_t client, std::size_t by, Time at) const {
  const Lease& lease = leases_[client];
  const std::uint32_t lost = forgotten_by(lease.lock_token);
  const bool joined = leases_[by].lock_token != leases_[by].granted_token;
  if (lost == 0 || ((lost & leases_[by].granted_by) == 0 && !joined)) return false;
  const std::size_t n = schedule_->servers;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool here = (lost >> i & 1U) == 0;
    if (here && lease.words[i].expires > clocks_[client].now(at)) ++kept;
  }
  if (kept >= n - n / 2) return false;
  const bool majority = static_cast<std::size_t>(std::popcount(lost)) > n / 2;
  if (majority && mutation_ == Mutation::majority_never_forgets) return false;
  if (!majority && mutation_ == Mutation::minority_never_forgets) return false;
  return !schedule_->waits_for_replicas || mutation_ != Mutation::clocks_never_matter;
}

}  // namespace redlock::sim
