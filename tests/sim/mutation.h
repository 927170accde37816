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
  run_id_ignored,    ///< acquire.lua: the counter of an old snapshot goes on as if nothing had been
  fence_from_one,    ///< acquire.lua: a counter that is gone starts at 1, not at the clock
  release_any,       ///< release.lua: deletes whatever is there
  cool_any,          ///< release.lua: makes whatever is there cooling
  mark_unseen,       ///< acquire.lua: does not look whether a run was successful
  mark_on_arrival,   ///< mark.lua: a run began when its mark arrives
  holds_forgotten,   ///< leave.lua: deletes the lock although others hold it
  acquire_shared,    ///< acquire.lua: grants although another token is there
  revoked_free,      ///< acquire.lua: a revoked lock is taken for a free one
  revoke_any,        ///< revoke.lua: does not compare
  no_tombstone,      ///< remove.lua: leaves none
  note_unread,       ///< repair.lua: puts back what its owner has released
  note_unsigned,     ///< leave.lua: what a keeper gave back is missing to the owner
  readers_stay,      ///< readers.lua: a reader that died counts for ever
  reader_enters,     ///< acquire_shared.lua: a reader enters beside a writer
  writer_enters,     ///< acquire.lua: a writer enters beside readers
  releases_readers,  ///< release_shared.lua: takes all readers away, not only the one that asks
  renews_list_only,  ///< renew_shared.lua: renews the reader, and not the lock's key
  renews_any_list,   ///< readers.lua: a list of readers from an earlier lock counts
  repairs_over,      ///< repair_shared.lua: replaces what others hold
  /// acquire_slot.lua: the naive way, which grants while fewer than N have a slot on this server,
  /// whichever they have. slots_at_once.h says how many jobs then run at once.
  slots_counted,
  slots_mixed,         ///< slots.lua: a lock that is held in another way, or with other slots, fits
  slot_repaired_over,  ///< repair_shared.lua: puts a holder back beside the one that has its slot
  slot_frees_other,    ///< exit.lua: takes away the slot that was taken first
  uptime_untold,       ///< vote.cc: a fresh server counts as an old one
  unsent_kept,         ///< server_set.cc: a release does not cancel what was not sent
  clock_stands_still,  ///< clock.cc: CLOCK_MONOTONIC, which a suspend stops
  unreplicated_counts,     ///< request.cc: a vote counts although the replica does not have it
  unreplicated_is_unsent,  ///< trouble.cc: what the replica does not have is not given back
  renewals_unwaited,       ///< request.cc: a renewal counts although the replica does not have it
  fail_over_unseen,        ///< acquire.lua: a replica's counter goes on as if nothing had been
  majority_never_forgets,  ///< checks.cc: no two jobs though a majority forgets: a promise too much
  minority_never_forgets,  ///< likewise a minority, of which the holder had not one vote to spare
  clocks_never_matter,     ///< likewise a replica whose clock is ahead
  no_expiry,               ///< acquire.lua: the lock's key has no time to live
  stage_loss_untold,       ///< stage.cc: a redlock does not see that the next one lost its lock
  stage_keeps_lock,        ///< likewise that it gave up: it keeps its own lock
  stage_ends_locked,       ///< runner.cc: it sees that, and ends without a release
  stage_alone_killed,  ///< process_tree.cc: KILL reaches the next redlock, and not the job below it
  stage_untermed,      ///< runner.cc: TERM does not reach the next redlock, which still waits
  stage_skipped,       ///< stage.cc: takes the lock after the next one
  readers_overtake,    ///< acquire_shared.lua: a reader enters though a writer stands before it
  readers_one_by_one,  ///< queue.lua: a reader as the head is woken alone, as a writer is
  no_turn,             ///< queue.lua: whoever wakes gives no turn: whoever asks first gets the lock
  no_marks,            ///< queue.lua: a waiter that did not use its turn gets the next one, too
  turn_endless,        ///< queue.lua: a turn from before the clock was set back counts
  turn_never_ends,     ///< queue.lua: a turn counts though its owner has left the queue
  called_one_by_one,   ///< turn.lua: after a turn that was missed, only one waiter is called
  called_count_on,     ///< turn.lua: a waiter called with another's turn counts though it is silent
  called_as_missed,    ///< turn.lua: … counts as one that missed its turn
  asker_first,         ///< acquire.lua: an asker that finds the lock free and no turn gets it
  unheard_kept,        ///< queue.lua: a waiter that nobody hears gets the turn, too
  silent_passed_over,  ///< queue.lua: having just asked does not count as being heard
  ends_ahead_void,     ///< queue.lua: a waiter whose end is far ahead of the clock does not count
  ends_uncut,          ///< queue.lua: what ends far ahead of the clock is not cut
  ticket_of_clock,     ///< acquire.lua: a ticket is the clock alone
  refused_out_of_queue,  ///< acquire.lua: a refusal does not put its waiter into the queue
  cooling_untold,        ///< queue.lua: says nothing of a lock that cools
  slots_overtake,        ///< acquire_slot.lua: takes a free slot, whoever stands in the queue
  slots_wake_none,       ///< hand_on.lua: wakes nobody while others have slots
  slots_untold,          ///< acquire_slot.lua: a refusal does not tell who has which slot
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
    {Mutation::readers_stay, "readers_stay"},
    {Mutation::reader_enters, "reader_enters"},
    {Mutation::writer_enters, "writer_enters"},
    {Mutation::releases_readers, "releases_readers"},
    {Mutation::renews_list_only, "renews_list_only"},
    {Mutation::renews_any_list, "renews_any_list"},
    {Mutation::repairs_over, "repairs_over"},
    {Mutation::slots_counted, "slots_counted"},
    {Mutation::slots_mixed, "slots_mixed"},
    {Mutation::slot_repaired_over, "slot_repaired_over"},
    {Mutation::slot_frees_other, "slot_frees_other"},
    {Mutation::uptime_untold, "uptime_untold"},
    {Mutation::unsent_kept, "unsent_kept"},
    {Mutation::clock_stands_still, "clock_stands_still"},
    {Mutation::unreplicated_counts, "unreplicated_counts"},
    {Mutation::unreplicated_is_unsent, "unreplicated_is_unsent"},
    {Mutation::renewals_unwaited, "renewals_unwaited"},
    {Mutation::fail_over_unseen, "fail_over_unseen"},
    {Mutation::majority_never_forgets, "majority_never_forgets"},
    {Mutation::minority_never_forgets, "minority_never_forgets"},
    {Mutation::clocks_never_matter, "clocks_never_matter"},
    {Mutation::no_expiry, "no_expiry"},
    {Mutation::stage_loss_untold, "stage_loss_untold"},
    {Mutation::stage_keeps_lock, "stage_keeps_lock"},
    {Mutation::stage_ends_locked, "stage_ends_locked"},
    {Mutation::stage_alone_killed, "stage_alone_killed"},
    {Mutation::stage_skipped, "stage_skipped"},
    {Mutation::readers_overtake, "readers_overtake"},
    {Mutation::readers_one_by_one, "readers_one_by_one"},
    {Mutation::no_turn, "no_turn"},
    {Mutation::no_marks, "no_marks"},
    {Mutation::turn_endless, "turn_endless"},
    {Mutation::turn_never_ends, "turn_never_ends"},
    {Mutation::ends_ahead_void, "ends_ahead_void"},
    {Mutation::called_one_by_one, "called_one_by_one"},
    {Mutation::called_count_on, "called_count_on"},
    {Mutation::called_as_missed, "called_as_missed"},
    {Mutation::asker_first, "asker_first"},
    {Mutation::unheard_kept, "unheard_kept"},
    {Mutation::silent_passed_over, "silent_passed_over"},
    {Mutation::ends_uncut, "ends_uncut"},
    {Mutation::ticket_of_clock, "ticket_of_clock"},
    {Mutation::refused_out_of_queue, "refused_out_of_queue"},
    {Mutation::cooling_untold, "cooling_untold"},
    {Mutation::slots_overtake, "slots_overtake"},
    {Mutation::slots_wake_none, "slots_wake_none"},
    {Mutation::slots_untold, "slots_untold"},
};

/// Those of readers, and of holders of slots.
inline constexpr bool is_of_readers(Mutation mutation) {
  return mutation >= Mutation::readers_stay && mutation <= Mutation::slot_frees_other;
}

/// Those of the queue of waiters.
inline constexpr bool is_of_queue(Mutation mutation) {
  return mutation >= Mutation::readers_overtake;
}

inline std::optional<Mutation> mutation_named(std::string_view name) {
  for (const auto& entry : kMutations) {
    if (entry.name == name) return entry.mutation;
  }
  return std::nullopt;
}

}  // namespace redlock::sim
