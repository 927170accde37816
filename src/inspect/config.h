// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "config/table.h"

namespace redlock::inspect {

/// `redlock config`: what stands in `draft` after config::complete(), as a table or, if so asked,
/// as JSON. Passwords are not in it.
std::string describe_settings(const config::Draft& draft);

}  // namespace redlock::inspect
