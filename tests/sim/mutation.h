// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace redlock::sim {

/// Mistakes outside src/lock that the simulator can make on purpose, to show that it would see
/// them: in the scripts, the transport or the loop. Those inside src/lock are made by
/// tests/sim/mutants.
enum class Mutation {
  none,
  run_id_ignored,   ///< acquire.lua: the counter of an old snapshot goes on as if nothing had been
  fence_from_one,   ///< acquire.lua: a counter that is gone starts at 1, not at the clock
  release_any,      ///< release.lua: deletes whatever is there
  cool_any,         ///< release.lua: makes whatever is there cooling
  mark_unseen,      ///< acquire.lua: does not look whether a run was successful
  mark_on_arrival,  ///< mark.lua: a run began when its mark arrives
  holds_forgotten,  ///< leave.lua: deletes the lock although others hold it
  acquire_shared,   ///< acquire.lua: grants although another token is there
  revoked_free,     ///< acquire.lua: a revoked lock is taken for a free one
  revoke_any,       ///< revoke.lua: does not compare
  no_tombstone,     ///< remove.lua: leaves none
  note_unread,      ///< repair.lua: puts back what its owner has released
  note_unsigned,    ///< leave.lua: what a keeper gave back is missing to the owner
  uptime_untold,    ///< vote.cc: a fresh server counts as an old one
  unsent_kept,      ///< server_set.cc: a release does not cancel what was not sent
  clock_stands_still,  ///< clock.cc: CLOCK_MONOTONIC, which a suspend stops
};

inline constexpr struct {
  Mutation mutation;
  std::string_view name;
} kMutations[] = {
    {Mutation::run_id_ignored, "run_id_ignored"},
    {Mutation::fence_from_one, "fence_from_one"},
    {Mutation::release_any, "release_any"},
    {Mutation::cool_any, "cool_any"},
    {Mutation::mark_unseen, "mark_unseen"},
    {Mutation::mark_on_arrival, "mark_on_arrival"},
    {Mutation::holds_forgotten, "holds_forgotten"},
    {Mutation::acquire_shared, "acquire_shared"},
    {Mutation::revoked_free, "revoked_free"},
    {Mutation::revoke_any, "revoke_any"},
    {Mutation::no_tombstone, "no_tombstone"},
    {Mutation::note_unread, "note_unread"},
    {Mutation::note_unsigned, "note_unsigned"},
    {Mutation::uptime_untold, "uptime_untold"},
    {Mutation::unsent_kept, "unsent_kept"},
    {Mutation::clock_stands_still, "clock_stands_still"},
};

inline std::optional<Mutation> mutation_named(std::string_view name) {
  for (const auto& entry : kMutations) {
    if (entry.name == name) return entry.mutation;
  }
  return std::nullopt;
}

}  // namespace redlock::sim
