// SPDX-License-Identifier: MIT
#include "hold/refused_json.h"

#include <algorithm>
#include <string_view>

#include "inspect/holder_json.h"
#include "inspect/observed.h"
#include "lock/judgement.h"
#include "lock/value.h"
#include "records/holder.h"
#include "records/json.h"

namespace redlock::hold {

namespace {

using records::Json;
using std::chrono::milliseconds;

/// The refusal as a sighting: as if redlock had looked at the key on that server.
lock::Sighting sighting_of(const lock::Refused& refusal) {
  lock::Sighting sighting;
  sighting.kind =
      lock::type_of(refusal.blocker) ? lock::Sighting::Kind::other : lock::Sighting::Kind::value;
  sighting.value = refusal.blocker;
  sighting.holder = refusal.holder;
  return sighting;
}

}  // namespace

std::string refused_json(const std::string& lock_name, const lock::Waiting& last,
                         lock::Instant now) {
  Json state;
  Json holder;
  Json left;
  if (const auto& refusal = last.refusal) {
    state = inspect::word_for(lock::state_of(sighting_of(*refusal)));
    holder = inspect::holder_json(records::read_holder(refusal->holder));
    if (refusal->ttl_left) {
      const auto since = std::chrono::ceil<milliseconds>(now - last.refused_at);
      left = inspect::in_seconds(std::max(*refusal->ttl_left - since, milliseconds(0)));
    }
  }
  return Json::object({{"acquired", false},
                       {"name", lock_name},
                       {"state", state},
                       {"holder", holder},
                       {"left_s", left}})
      .output();
}

}  // namespace redlock::hold
