// SPDX-License-Identifier: MIT
#include "hold/release.h"

#include "hold/token_command.h"

namespace redlock::hold {

Exit release(const cli::Release& request) {
  const std::string token = read_token(request.token);
  // For the log; and a lock that is being revoked would be released as well as any other.
  const Possession possession = look_up(request.settings, request.name, token);
  config::Settings settings = request.settings;
  // That it was released is noted for whoever renews it, for as long as that may be of interest.
  settings.ttl = recorded_ttl(possession).value_or(settings.ttl);
  return TokenCommand(settings, possession, lock::Op::leave).run();
}

}  // namespace redlock::hold
