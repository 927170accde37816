// SPDX-License-Identifier: MIT
#include "hold/refused_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "diag/json_output.h"
#include "inspect/holder_json.h"
#include "inspect/observed.h"
#include "lock/judgement.h"

namespace redlock::hold {

namespace {

using nlohmann::ordered_json;
using std::chrono::milliseconds;

/// As the server would have shown the key to somebody who looks at it.
lock::Sighting sighting_of(const lock::Refused& refusal) {
  constexpr std::string_view kType = "type:";
  lock::Sighting sighting;
  sighting.type = "string";
  sighting.value = refusal.blocker;
  sighting.holder = refusal.holder;
  if (refusal.blocker.starts_with(kType)) sighting.type = refusal.blocker.substr(kType.size());
  return sighting;
}

}  // namespace

std::string refused_json(const std::string& lock_name, const lock::Waiting& last,
                         lock::Instant now) {
  ordered_json object = {{"acquired", false},
                         {"name", lock_name},
                         {"state", nullptr},
                         {"holder", nullptr},
                         {"left_s", nullptr}};
  if (const auto& refusal = last.refusal) {
    object["state"] = inspect::word_for(lock::state_of(sighting_of(*refusal)));
    object["holder"] = inspect::holder_json(diag::read_holder(refusal->holder));
    if (refusal->ttl_left) {
      const auto since = std::chrono::ceil<milliseconds>(now - last.refused_at);
      object["left_s"] = inspect::in_seconds(std::max(*refusal->ttl_left - since, milliseconds(0)));
    }
  }
  return diag::json_output(object);
}

}  // namespace redlock::hold
