// SPDX-License-Identifier: MIT
#include "os/locale.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

namespace redlock::os {

bool locale_is_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    std::string name(value);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace redlock::os
