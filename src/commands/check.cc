// SPDX-License-Identifier: MIT
#include "commands/check.h"
namespace redlock::commands {
int check(const cli::Check&) {
  return 0;
}
}  // namespace redlock::commands
