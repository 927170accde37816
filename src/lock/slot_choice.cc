// SPDX-License-Identifier: MIT
#include "lock/slot_choice.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

namespace redlock::lock {

namespace {

/// What the servers say of one slot.
struct SlotView {
  std::size_t free = 0;                               ///< how many servers would grant it
  std::map<std::string_view, std::size_t> holders{};  ///< how many servers name each
};

void add(std::string_view text, std::vector<SlotView>& reports) {
  for (SlotView& report : reports) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view holder = text.substr(0, end);
    if (holder.empty()) {
      ++report.free;
    } else {
      ++report.holders[holder];
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

SlotChoice::Next SlotChoice::choose(const Attempt& ended) {
  if (slots_ == 0) return Next::as_judged;
  std::vector<SlotView> reports(slots_);
  const std::size_t needed = quorum(ended.votes().size());
  std::size_t told = 0;
  std::size_t not_ours = 0;  // refused, and not for a slot: the lock is held in another way
  bool turn = false;
  for (const Attempt::Vote& vote : ended.votes()) {
    if (vote.state == Attempt::VoteState::granted) ++reports[slot_ - 1].free;
    if (vote.state != Attempt::VoteState::refused) continue;
    if (vote.refusal.slots.empty()) {
      not_ours += vote.refusal.turn ? 0 : 1;
      continue;
    }
    add(vote.refusal.slots, reports);
    turn = turn || vote.refusal.turn;
    ++told;
  }
  if (told == 0 || not_ours >= needed) return Next::as_judged;

  const bool all_held = std::ranges::all_of(reports, [needed](const SlotView& report) {
    return std::ranges::any_of(report.holders,
                               [needed](const auto& each) { return each.second >= needed; });
  });
  const std::size_t before = slot_;
  std::size_t most = 0;
  for (std::size_t step = 1; step <= slots_; ++step) {  // from the next one round to our own
    const std::size_t slot = (before - 1 + step) % slots_ + 1;
    if (reports[slot - 1].free <= most) continue;
    most = reports[slot - 1].free;
    slot_ = slot;
  }
  if (all_held || turn) {
    moves_ = 0;
    return Next::as_judged;
  }
  // Others may take each free slot just before us: then the pause of a split follows.
  if (slot_ != before && most >= needed && ++moves_ < slots_) return Next::elsewhere;
  moves_ = 0;
  return Next::split;
}

}  // namespace redlock::lock
