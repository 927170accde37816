// SPDX-License-Identifier: MIT
#include "redis/untrusted.h"

namespace redlock::redis {

std::string untrusted(std::string_view text) {
  constexpr std::size_t most = 120;
  std::string out(text.substr(0, most));
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  if (text.size() > most) {
    // Not in the middle of a character.
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
    out += "…";
  }
  return out;
}

}  // namespace redlock::redis
