// SPDX-License-Identifier: MIT
//
// A pipeline as its tests use it.
#pragma once

#include "commands.h"
#include "redis/connection/pipeline.h"

namespace redlock::tests {

using redis::Pipeline;

inline constexpr lock::Instant kAsked = lock::Instant{} + std::chrono::seconds(100);

/// Its deadline is a second after kAsked.
inline Pipeline::Pending& add(Pipeline& pipeline, lock::Op op, lock::AttemptId attempt,
                              const std::string& wire = "x", std::size_t commands = 1) {
  Pipeline::Pending& added =
      pipeline.add({.server = 0, .attempt = attempt, .operation = operation_of(op)},
                   flight_of(commands), wire, kAsked);
  added.deadline = kAsked + std::chrono::seconds(1);
  return added;
}

/// Sends all that may be sent, and returns it.
inline std::string send(Pipeline& pipeline) {
  std::string wire;
  while (Pipeline::Pending* const next = pipeline.next_to_send()) {
    const std::string rest(next->rest());
    wire += rest;
    pipeline.sent(*next, rest.size(), kAsked);
  }
  return wire;
}

inline bool reply(Pipeline& pipeline, const std::string& text = "OK",
                  Pipeline::Refusal refusal = Pipeline::Refusal::none) {
  redis::Value value = error_of(text);
  if (refusal == Pipeline::Refusal::none) value.type = redis::Value::Type::status;
  return pipeline.take_reply(value, refusal);
}

}  // namespace redlock::tests
