// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "config/settings.h"
#include "config/table.h"

namespace redlock::config {

/// Looks an environment variable up; null: not set. In the program this is getenv(3).
using Environment = std::function<const char*(const char* variable)>;

/// The variable's value, empty if it is not set: redlock treats the two alike.
std::string variable(const Environment& environment, const char* name);

/// Takes the flags already stored in `draft`, adds what the environment says where no flag did and
/// what the configuration file says where neither did, and applies the rules that span several
/// rows. Passwords: URI, --password-file, REDLOCK_PASSWORD, REDLOCK_PASSWORD_FILE, the file's
/// password, its password-file, REDISCLI_AUTH, in this order, given to every server without one.
/// Reads these files, and nothing else. Throws Error (64, 78).
void complete(Draft& draft, const Environment& environment);

}  // namespace redlock::config
