// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "config/settings.h"
#include "config/table.h"

namespace redlock::config {

/// The place of a row's value from `source`, for the beginning of a message: `-w/--wait`,
/// `REDLOCK_TTL`, `/etc/redlock.toml:3: ttl`.
std::string place(const Row& row, const Draft& draft, Source source);

/// Stores a value and its source. Throws Error that begins with the value's place (64 for a flag,
/// else 78).
void store(const Row& row, Draft& draft, std::string_view value, Source source);

/// The status of an error in a value of this origin: 64 for a flag, else 78.
ExitStatus status_of(Origin origin);

/// Where an earlier redlock keeps what it read from pipes: a line "DESCRIPTOR PATH" for each, with
/// the path as the user wrote it. Only redlock itself sets it.
constexpr const char* kPipesVariable = "REDLOCK_STAGE_PIPES";

/// Returns an environment variable, or null if it is not set. In the program this is getenv(3).
using Environment = std::function<const char*(const char* variable)>;

/// The variable's value, empty if it is not set.
std::string variable(const Environment& environment, const char* name);

/// Completes `draft`, which has the flags: the environment sets what no flag has set, and the
/// configuration file sets the rest. Then applies the rules for the servers. A server gets
/// the first password of: its URI, --password-file, REDLOCK_PASSWORD, REDLOCK_PASSWORD_FILE, the
/// file's password, the file's password-file, REDISCLI_AUTH. Reads these files and no others.
/// Throws Error (64, 78).
void complete(Draft& draft, const Environment& environment);

/// Throws Error (64, 78) if the completed draft's grace is too long for its ttl. For the commands
/// that stop or signal a job: others must work although an environment suits no job.
void check_kill_after(const Draft& draft);

/// Throws Error (64, 78) if the completed draft's ttl is too long for its restart grace. For the
/// commands that take or renew a lock with this ttl: whoever has a lock must be able to release it.
void check_restart_grace(const Draft& draft);

}  // namespace redlock::config
