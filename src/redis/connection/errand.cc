// SPDX-License-Identifier: MIT
#include "redis/connection/errand.h"

#include <utility>
#include <variant>

#include "redis/wire/trouble.h"

namespace redlock::redis {

Errand::Errand(Endpoint node, const TlsContext* tls, Timeouts timeouts)
    : node_(std::move(node)), link_(node_, tls, timeouts, std::string()) {}

void Errand::begin(std::deque<Pipeline::Pending> refused, lock::Instant now) {
  for (const Pipeline::Pending& pending : refused) {
    if (pending.reported == Pipeline::Reported::answered) continue;
    link_.ask(pending.ask, with_asking(pending.flight), now);
  }
}

std::vector<Link::Arrival> Errand::turn(lock::Instant now) {
  std::vector<Link::Arrival> arrivals = link_.turn(now);
  for (Link::Arrival& arrival : arrivals) {
    // The slot has moved on, or back. The request was carried out nowhere.
    const Value* const reply = std::get_if<Value>(&arrival.content);
    if (reply != nullptr && is_redirection(*reply)) arrival.content = slot_is_moving();
  }
  return arrivals;
}

}  // namespace redlock::redis
