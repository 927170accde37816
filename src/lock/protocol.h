// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::lock {

/// The number of the protocol: VERSIONS in redlock-protocol(7) says what it promises, and when it
/// rises. protocol.cc has the number; tests/lib/later_protocol.cc has another one, for a redlock
/// that tests let share servers with this one.
extern const long long kProtocol;

}  // namespace redlock::lock
