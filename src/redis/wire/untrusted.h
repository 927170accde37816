// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::redis {

/// Text from a server or its certificate, made fit for a message: os::printable(), cut to 120
/// bytes.
std::string untrusted(std::string_view text);

}  // namespace redlock::redis
