// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/table.h"

namespace redlock::config {

/// The place of a row's value from `source`, which is no default, for the beginning of a message:
/// `-w/--wait`, `REDLOCK_TTL`, `/etc/redlock.toml:3: ttl`.
std::string place(const Row& row, const Draft& draft, const Source& source);

/// Stores a value and its source. Throws Error that begins with the value's place (64 for a flag,
/// else 78).
void store(const Row& row, Draft& draft, std::string_view value, Source source);

/// Where an earlier redlock keeps what it read from pipes: a line "DESCRIPTOR PATH" for each, with
/// the path as the user wrote it. Only redlock itself sets it.
constexpr const char* kPipesVariable = "REDLOCK_STAGE_PIPES";

/// Returns an environment variable, or null if it is not set. In the program this is getenv(3).
using Environment = std::function<const char*(const char* variable)>;

/// Empty if it is not set.
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

// The configuration file: toml_file.cc.

struct NotToml {
  unsigned line;
  std::string why;  ///< contains nothing of the text
};

/// Throws NotToml for the first violation of TOML's grammar (https://toml.io/en/v1.0.0), before
/// toml++ parses the text: version 3.3 ends in an assertion on "[=" and "a=[}", and in undefined
/// behaviour on a bare key or an escape that is not ASCII. toml++ itself checks whether a word is a
/// number, a text is valid UTF-8, and each key occurs once.
void check_toml(std::string_view text);

enum class Content { secret, settings };

/// Stores the values in `text`, the content of draft.config_file, for the settings that neither a
/// flag nor a variable has set. Returns whether the text contains a password. Throws Error (78)
/// with file and line for any mistake, except in the value of a setting that is set already.
Content read_toml(const std::string& text, Draft& draft);

}  // namespace redlock::config
