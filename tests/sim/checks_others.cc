// SPDX-License-Identifier: MIT
//
// What the checks make of a job and the jobs of others: those beside it, and those before it; and
// of servers that failed over to a replica without the vote.
#include <algorithm>
#include <vector>

#include "checks.h"
#include "story.h"

namespace redlock::sim {

using namespace std::chrono_literals;

void Checks::check_holds(std::size_t client) {
  for (std::size_t other = 0; other < schedule_->clients; ++other) {
    if (time() >= holds_[other].until) continue;
    if (holds_[other].lock_token == leases_[client].lock_token) continue;
    if (was_revoked(holds_[other].lock_token)) continue;
    fail("cut_short", client_name(client) + "'s job starts before the hold of " +
                          client_name(other) + " is over");
  }
}

/// What a quorum knows of is not done again. A mark's time is that of a vote that came late: by
/// less than a ttl, or no job would have been started on it.
void Checks::check_once(std::size_t client) {
  const Time period = schedule_->client[client].once;
  for (const Success& success : successes_) {
    if (!success.known || schedule_->client[success.client].once < period) continue;
    if (schedule_->longest_step_back >= period) continue;  // its mark lies too far ahead
    if (time() - success.began >= period - period / 50 - schedule_->timing.ttl) continue;
    fail("twice", client_name(client) + "'s job starts although " + client_name(success.client) +
                      "'s was successful");
  }
}

/// Only a successful run makes another one needless, and only for a time. (A run that is known
/// may have ended just now.)
void Checks::check_skip(std::size_t client) {
  const Time period = schedule_->client[client].once;
  // After a step back, a mark is younger by as much.
  const Time most = period + schedule_->longest_step_back + period / 50 + schedule_->timing.ttl * 2;
  for (const Success& success : successes_) {
    if (time() - success.began <= most || !schedule_->assumptions_hold) return;
  }
  fail("skipped", client_name(client) + " does nothing, but nobody has done it");
}

void Checks::check_overlap(std::size_t client) {
  for (std::size_t other = 0; other < schedule_->clients; ++other) {
    if (other == client || !leases_[other].live || excused(other)) continue;
    if (leases_[other].lock_token == leases_[client].lock_token)
      continue;  // one has joined the other
    if (may_be_together(leases_[other].lock_token, leases_[client].lock_token)) continue;
    // Anybody may take a deleted lock immediately; its holder's job must end soon.
    if (is_deleted(leases_[other].lock_token)) {
      check_lifetime(other);
      continue;
    }
    // Forgotten while its job was being started: its next renewal says so.
    if (is_forgotten(client, other)) continue;
    if (is_forgotten(other, client)) {
      check_lifetime(other);
      leases_[other].beside_limit =
          std::min(leases_[other].beside_limit, clocks_[other].now(time()) + lease_length_);
      continue;
    }
    fail("overlap", client_name(client) + "'s job starts while " + client_name(other) + "'s lives");
  }
}

/// No more jobs at the same time than the lock has slots; those inside a job have its slot.
void Checks::check_crowd(std::size_t client) {
  const Token mine = leases_[client].lock_token;
  std::vector<Token> tokens = {mine};
  for (std::size_t other = 0; other < schedule_->clients; ++other) {
    const Token theirs = leases_[other].lock_token;
    if (other == client || !leases_[other].live || excused(other)) continue;
    if (is_deleted(theirs) || !same_kind(theirs, mine)) continue;
    // One whose slot another has, too, whom servers let in that forgot it.
    bool doubled = is_forgotten(client, other);
    for (std::size_t by = 0; by < schedule_->clients && !doubled; ++by) {
      doubled = by != other && leases_[by].live && is_forgotten(other, by);
    }
    if (doubled || is_forgotten(other, client)) continue;
    if (!has(tokens, theirs)) tokens.push_back(theirs);
  }
  if (slots_of(mine) == 0 || tokens.size() <= slots_of(mine)) return;
  fail("crowd", client_name(client) + "'s job is one of " + std::to_string(tokens.size()) +
                    " at the same time, and the lock has " + std::to_string(slots_of(mine)) +
                    " slots");
}

std::size_t Checks::commands() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      grants_, [this](const Grant& each) { return !schedule_->next_stage(each.client); }));
}

void Checks::check_fence(const Grant& grant, Time began) {
  if (!schedule_->fences_rise) return;
  // Others may read with later numbers than the lock that this one joins.
  const bool joins = std::ranges::count(grants_, grant.lock_token, &Grant::lock_token) > 0;
  for (const Grant& before : grants_) {
    // Where the assumptions fail, two may hold the lock at the same time: then their order is
    // nobody's.
    const bool alone =
        schedule_->assumptions_hold && !schedule_->seized && !schedule_->votes_are_forgotten();
    const bool beside = may_be_together(before.lock_token, grant.lock_token);
    const bool ordered = (alone && !beside) || (before.started <= began && !(beside && joins));
    if (grant.fence == before.fence && grant.lock_token == before.lock_token) continue;
    if (grant.fence != before.fence && (grant.fence > before.fence || !ordered)) continue;
    fail("fence", client_name(grant.client) + "'s fence " + std::to_string(grant.fence) +
                      " is not above " + client_name(before.client) + "'s earlier " +
                      std::to_string(before.fence));
  }
}

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
/// few servers of its list still have it to keep `by` from a quorum. With a vote on each of N
/// servers, the client is safe while fewer than half of them forget. With no more than a quorum of
/// votes, it is not safe when one server forgets. Both jobs run until the client's next renewal:
/// then a quorum says that the lock is gone ("unstopped"), or nobody answers and the lease ends
/// ("outlived", "beside").
bool Checks::is_forgotten(std::size_t client, std::size_t by) const {
  const Lease& lease = leases_[client];
  const std::uint32_t lost = forgotten_by(lease.lock_token);
  const bool joined = leases_[by].lock_token != leases_[by].granted_token;
  if (lost == 0 || ((lost & leases_[by].granted_by) == 0 && !joined)) return false;
  const std::size_t n = leases_[by].servers;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool here = (lost >> i & 1U) == 0;
    if (here && lease.words[i].expires > clocks_[client].now(time())) ++kept;
  }
  return kept < n - n / 2;
}

}  // namespace redlock::sim
