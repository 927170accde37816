// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "config/settings.h"
#include "diag/screen.h"
#include "inspect/observed.h"

namespace redlock::inspect {

/// Everything about a lock, for people: several lines that fit the screen, safe to print.
std::string as_block(const Observed& lock, const config::Settings& settings,
                     const diag::Screen& screen);

}  // namespace redlock::inspect
