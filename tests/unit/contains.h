// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace redlock::tests {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace redlock::tests
