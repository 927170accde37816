// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "error.h"
#include "exit_status.h"

namespace redlock::cli {

/// Throws Error (64).
[[noreturn]] inline void misused(const std::string& message) {
  throw Error(ExitStatus::usage, message);
}

}  // namespace redlock::cli
