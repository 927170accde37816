// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::redis {

/// What a server says, or its certificate, fit for a message: os::printable(), cut to 120 bytes.
std::string untrusted(std::string_view text);

}  // namespace redlock::redis
