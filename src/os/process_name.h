// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace redlock::os {

/// Sets what ps(1) and killall(1) show for this process: `name`, cut to 15 bytes, in place of the
/// name of the executable file; `title`, as far as there is room, in place of the arguments.
void rename_process(const char* name, const std::string& title);

}  // namespace redlock::os
