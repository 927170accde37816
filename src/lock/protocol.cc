// SPDX-License-Identifier: MIT
#include "lock/protocol.h"

namespace redlock::lock {

const long long kProtocol = 1;

}  // namespace redlock::lock
