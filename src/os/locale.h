// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::os {

/// Whether LC_ALL, LC_CTYPE or LANG, the first that is set, names UTF-8.
bool locale_is_utf8();

}  // namespace redlock::os
