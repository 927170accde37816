// SPDX-License-Identifier: MIT
//
// How a scenario writes what goes into a session and what comes out of it.
#pragma once

#include <string>
#include <string_view>

#include "lock/session.h"
#include "scenario.h"

namespace redlock::scenarios {

/// "30s", "250ms"; throws std::runtime_error.
lock::Duration read_duration(std::string_view text);

/// "acquire"; throws std::runtime_error.
lock::Op read_op(std::string_view text);

/// "granted fence=7", "refused by=tokenB ttl=20s"; throws std::runtime_error.
lock::Answer read_answer(const Words& words);

/// The other way round: "29.698s", "250ms".
std::string text_of(lock::Duration duration);
std::string name_of(lock::ServerIndex server);

/// What an effect is, in one line.
std::string text_of(const lock::Effect& effect);

/// How a session has ended.
std::string text_of(const lock::Outcome& outcome);

}  // namespace redlock::scenarios
