// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::lock {

/// The number of the protocol: VERSIONS in redlock-protocol(7) says what it promises, and when it
/// rises.
inline constexpr long long kProtocol = 1;

}  // namespace redlock::lock
