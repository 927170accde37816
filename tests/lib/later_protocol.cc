// SPDX-License-Identifier: MIT
//
// In the place of src/lock/protocol.cc, this makes a redlock of a later protocol, for
// tests/lock/versions.bats.
#include "lock/protocol.h"

namespace redlock::lock {

const long long kProtocol = 2;

}  // namespace redlock::lock
