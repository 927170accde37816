// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "error.h"

namespace redlock::os {

/// The kernel has refused `what`, and errno says why. Throws Error (71).
[[noreturn]] inline void fail(const char* what) {
  throw Error(ExitStatus::os_error, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace redlock::os
