// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "config/draft.h"

namespace redlock::inspect {

/// `redlock config`: the settings of `draft` after config::complete(), as a table or, with --json,
/// as JSON. Without passwords.
std::string describe_settings(const config::Draft& draft);

}  // namespace redlock::inspect
