// SPDX-License-Identifier: MIT
#include "hold/release.h"

#include "hold/token_command.h"

namespace redlock::hold {

Exit release(const cli::Release& request) {
  const std::string token = read_token(request.token);
  // The log needs it. It also shows whether the lock is being revoked: the release itself would
  // work all the same.
  const Possession possession = look_up(request.settings, request.name, token);
  config::Settings settings = request.settings;
  // The servers remember for this time that the lock was released, for a keeper that still renews
  // it.
  settings.ttl = recorded_ttl(possession).value_or(settings.ttl);
  return TokenCommand(settings, possession, lock::Op::leave).run();
}

}  // namespace redlock::hold
