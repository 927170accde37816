// SPDX-License-Identifier: MIT
//
// Numbers, times and records out of a script's answer, for all who read one. Whatever does not fit
// is none: answers are untrusted.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "lock/vote.h"
#include "redis/resp.h"

namespace redlock::redis {

/// Numbers travel as text: a reply of Lua's number would lose all beyond 2^53, one of text can be
/// checked for it.
std::optional<std::uint64_t> read_number(const Value& value);

/// Milliseconds, from 0 to what can be added to an instant.
std::chrono::milliseconds read_length(const Value& value);

/// {'done', age, time left, who}
std::optional<lock::Done> read_done(const Value& reply);

}  // namespace redlock::redis
