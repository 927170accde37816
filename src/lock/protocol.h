// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::lock {

/// The number of the protocol: VERSIONS in redlock-protocol(7) says what it promises. A test builds
/// a redlock with another one (tests/lib/later_protocol.cc).
extern const long long kProtocol;

}  // namespace redlock::lock
