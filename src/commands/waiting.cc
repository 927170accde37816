// SPDX-License-Identifier: MIT
#include "commands/waiting.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace redlock::commands {

namespace {

bool same_process(const diag::Holder& one, const diag::Holder& other) {
  return one.host == other.host && one.pid == other.pid;
}

}  // namespace

std::optional<WaitingLine> merge(const std::vector<std::optional<redis::Queue>>& queues,
                                 const std::optional<diag::Holder>& holder) {
  if (std::ranges::none_of(queues, [](const auto& queue) { return queue.has_value(); })) return {};
  WaitingLine line;
  std::map<std::string, Waiting> waiters;
  for (const auto& queue : queues) {
    if (!queue) continue;
    line.others = std::max(line.others, queue->length - queue->first.size());
    for (const redis::Waiter& seen : queue->first) {
      Waiting& waiter = waiters[seen.id];
      waiter.waited = std::max(waiter.waited, seen.waited);
      if (!waiter.who) waiter.who = diag::read_holder(seen.who);
    }
  }
  for (auto& [id, waiter] : waiters) {
    const bool has_it = holder && waiter.who && same_process(*holder, *waiter.who);
    if (!has_it) line.known.push_back(std::move(waiter));
  }
  std::ranges::stable_sort(line.known, std::greater<>(), &Waiting::waited);
  return line;
}

}  // namespace redlock::commands
