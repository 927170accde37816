// SPDX-License-Identifier: MIT
#include "commands/release.h"

#include "commands/token_errand.h"

namespace redlock::commands {

int release(const cli::Release& request) {
  const config::Settings& settings = request.settings;
  const std::string token = read_token(request.token);
  // For the log; and a lock that is being revoked would be released as well as any other.
  const Possession possession = look_up(settings, request.name, token);
  return TokenErrand(settings, possession, lock::Op::leave).run();
}

}  // namespace redlock::commands
