// SPDX-License-Identifier: MIT
//
// Reads numbers, times and records in a script's answer. A value that does not fit gives none:
// answers are untrusted.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "lock/vote.h"
#include "redis/wire/resp.h"

namespace redlock::redis {

/// Numbers travel as text: a Lua number would lose digits beyond 2^53 unnoticed, a text shows them.
std::optional<std::uint64_t> read_number(const Value& value);

/// Milliseconds, from 0 to the longest time that can be added to an instant.
std::chrono::milliseconds read_length(const Value& value);

/// {'done', age, time left, who}
std::optional<lock::Done> read_done(const Value& reply);

}  // namespace redlock::redis
