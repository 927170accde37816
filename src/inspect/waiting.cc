// SPDX-License-Identifier: MIT
#include "inspect/waiting.h"
#include "diag/duration.h"
#include "records/holder.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace redlock::inspect {

namespace {

/// Whether the waiter has the lock by now and is about to leave the queue. A waiter that came after
/// the acquisition waits for a lock that its own process holds: users should see it.
bool has_it(const Waiting& waiter, const records::Holder& holder) {
  return waiter.who && waiter.who->host == holder.host && waiter.who->pid == holder.pid &&
         waiter.waited >= diag::ago(holder.since).value_or(std::chrono::milliseconds::zero());
}

}  // namespace

std::optional<WaitingQueue> merge(const std::vector<std::optional<redis::Queue>>& queues,
                                  const std::optional<records::Holder>& holder) {
  if (std::ranges::none_of(queues, [](const auto& queue) { return queue.has_value(); })) return {};
  WaitingQueue merged;
  std::map<std::string, Waiting> waiters;
  for (const auto& queue : queues) {
    if (!queue) continue;
    merged.others = std::max(merged.others, queue->length - queue->first.size());
    for (const redis::Waiter& seen : queue->first) {
      Waiting& waiter = waiters[seen.id];
      waiter.waited = std::max(waiter.waited, seen.waited);
      if (!waiter.who) waiter.who = records::read_holder(seen.who);
    }
  }
  for (auto& [id, waiter] : waiters) {
    if (!holder || !has_it(waiter, *holder)) merged.known.push_back(std::move(waiter));
  }
  std::ranges::stable_sort(merged.known, std::greater<>(), &Waiting::waited);
  return merged;
}

}  // namespace redlock::inspect
