// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace redlock::os {

/// What ps(1) and killall(1) show of this process: `name`, cut to 15 bytes, instead of the name of
/// the executable file; `title`, as far as there is room, instead of the arguments.
void rename_process(const char* name, const std::string& title);

}  // namespace redlock::os
