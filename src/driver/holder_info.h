// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "driver/lock_id.h"
#include "records/holder.h"

namespace redlock::driver {

/// Who we are, for the holder record beside the lock. The moment of the acquisition is not known
/// yet.
records::Holder describe_ourselves(const config::Settings& settings, const LockId& lock,
                                   const std::vector<std::string>& job);

/// That record as JSON, as of the moment of each call.
std::function<std::string()> record_of(records::Holder who);

}  // namespace redlock::driver
