// SPDX-License-Identifier: MIT
//
// Mistakes outside src/lock that the simulators can make on purpose (--mutation), to show that they
// see them. tests/sim/mutants makes those inside src/lock.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace redlock::sim {

/// In the transport, the loop, the checks.
enum class Mutation {
  none,
  uptime_untold,           ///< request.cc: a fresh server counts as an old one
  unsent_kept,             ///< server_set.cc: a release does not cancel what was not sent
  clock_stands_still,      ///< clock.cc: CLOCK_MONOTONIC, which a suspend stops
  unreplicated_counts,     ///< request.cc: a vote counts although the replica does not have it
  unreplicated_is_unsent,  ///< trouble.cc: what the replica does not have is not released
  renewals_unwaited,       ///< request.cc: a renewal counts although the replica does not have it
  fail_over_unseen,        ///< a replica takes its primary's place under its primary's run_id
  majority_never_forgets,  ///< checks.cc: no two jobs though a majority forgets: a promise too much
  minority_never_forgets,  ///< likewise a minority, of which the holder had not one vote to spare
  clocks_never_matter,     ///< likewise a replica whose clock is ahead
  stage_loss_untold,       ///< stage.cc: a redlock does not see that the next one lost its lock
  stage_keeps_lock,        ///< likewise that it gave up: it keeps its own lock
  stage_ends_locked,       ///< runner.cc: it sees that, and ends without a release
  stage_alone_killed,  ///< process_tree.cc: KILL reaches the next redlock, and not the job below it
  stage_skipped,       ///< stage.cc: takes the lock after the next one
};

/// A mistake in the scripts, as they go over the wire: this text in place of that one, in each
/// script that has it.
struct Patch {
  std::string_view mistake;
  std::string_view before;
  std::string_view after;
};
using Patches = std::span<const Patch>;

struct Mistake {
  Mutation mutation = Mutation::none;
  Patches patches{};
};

/// Throws if the scripts have changed since, and a mistake fits into none of them.
void check_mistakes();
std::optional<Mistake> mistake_named(std::string_view name);

}  // namespace redlock::sim
