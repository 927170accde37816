// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "records/holder.h"

namespace redlock::driver {

/// Who we are, for the holder record beside the lock; since when is not known yet.
records::Holder describe_ourselves(const config::Settings& settings,
                                   const std::vector<std::string>& job);

/// 16 hex digits that are the same on every host that is configured with the same servers, in
/// whatever order, and (practically) differ for any other set. Credentials do not count.
std::string server_set_fingerprint(const std::vector<redis::Endpoint>& servers);

}  // namespace redlock::driver
