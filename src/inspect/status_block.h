// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "config/settings.h"
#include "inspect/observed.h"

namespace redlock::inspect {

/// Everything about a lock, for people: several lines of at most `width` columns, safe to print.
std::string as_block(const Observed& lock, const config::Settings& settings, std::size_t width);

}  // namespace redlock::inspect
