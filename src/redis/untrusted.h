// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::redis {

/// A server's words, fit to be shown: cut to 120 bytes, and with "?" for control bytes.
std::string untrusted(std::string_view text);

}  // namespace redlock::redis
