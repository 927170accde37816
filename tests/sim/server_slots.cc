// SPDX-License-Identifier: MIT
//
// What the scripts of slots do: slots.lua, acquire_slot.lua, and the part of hand_on.lua that is
// about them. For all else a holder of a slot is a reader: server_shared.cc.
#include <algorithm>

#include "server.h"

namespace redlock::sim {

namespace {

using Word = Response::Word;

}  // namespace

Server::Slots Server::slots(Token token, const Standing& standing, std::int64_t now) const {
  Slots slots;
  const bool mixes = mutation_ == Mutation::slots_mixed && slots_of(token) != 0;
  slots.fits = standing.shared != kNoToken && (mixes || same_kind(standing.shared, token));
  if (!slots.fits || slots_of(token) == 0) return slots;
  std::size_t holders = 0;
  for (const Reader& each : data_.readers.list) {
    if (each.ends_ms <= now || slots_of(each.token) == 0) continue;
    slots.taken[slot_of(each.token) - 1] = each.token;
    slots.soonest_ms = std::min(slots.soonest_ms, each.ends_ms);
    if (each.token == token) continue;
    ++holders;
    if (slot_of(each.token) != slot_of(token) && mutation_ != Mutation::slots_counted) continue;
    slots.occupant = each.token;
    slots.occupant_ends_ms = each.ends_ms;
  }
  const bool counts = mutation_ == Mutation::slots_counted;
  if (counts && holders < slots_of(token)) slots.occupant = kNoToken;
  return slots;
}

bool Server::has_free_slot(std::int64_t now) const {
  const Token value = data_.lock.value;
  if (!is_shared(value) || is_revoked(value) || slots_of(value) == 0) return false;
  if (mutation_ == Mutation::slots_wake_none) return false;
  const auto holders = std::ranges::count_if(
      data_.readers.list, [now](const Reader& each) { return each.ends_ms > now; });
  const std::size_t members =
      static_cast<std::size_t>(holders) + (data_.readers.value == kNoToken ? 0 : 1);
  return members <= slots_of(value);
}

/// Tells who has each slot if the lock has as many.
Response Server::refuse_slot(const Request& request, Response refusal, const Slots& slots,
                             std::int64_t now) {
  if (slots.fits && mutation_ != Mutation::slots_untold) {
    refusal.slots = slots_of(request.token);
    refusal.taken = slots.taken;
  }
  return refuse(request, refusal, now);
}

Response Server::acquire_slot(const Request& request, std::int64_t now) {
  const Standing standing = stand(request.token, now);
  const Slots slots = this->slots(request.token, standing, now);
  const bool free = data_.lock.value == kNoToken;
  const bool joins = request.hold != request.token;
  if (!free && (standing.revoked || !slots.fits)) {
    return refuse_slot(request, refusal(now), slots, now);
  }
  if (!standing.ours && is_dead(request.token)) {
    return refuse_slot(
        request, {.word = Word::refused, .value = revoked(request.token), .pttl = -2}, slots, now);
  }
  if (slots.occupant != kNoToken && !joins) {
    return refuse_slot(
        request, {.word = Word::refused, .value = slots.occupant, .pttl = slots.soonest_ms - now},
        slots, now);
  }
  if (joins && !standing.ours) {
    return refuse_slot(request, {.word = Word::refused, .pttl = -2}, slots, now);
  }
  if (joins && !data_.holder.is_held(request.token)) return {.word = Word::no_holds};
  const Trace trace = this->trace();
  if (const auto refusal = fresh(trace, standing.ours, now)) return *refusal;

  if (!standing.ours && !joins) {
    Queue& queue = data_.queue;
    const auto bar =
        queue.refusing_slot(request.waiter, request.token, request.ticket, free, now, publish_);
    if (bar && bar->other) return refuse(request, refusal(now), now);
    if (bar) {
      return refuse_slot(
          request, {.word = Word::refused, .pttl = bar->turn.left_ms, .turn = bar->turn.owner},
          slots, now);
    }
    queue.granted(request.waiter);
  }
  seat(request, standing, now);
  return grant(request, trace, standing.ours, now);
}

}  // namespace redlock::sim
