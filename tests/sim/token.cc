// SPDX-License-Identifier: MIT
#include "token.h"

#include <cstdio>

namespace redlock::sim {

std::string token_text(Token token) {
  std::string text = is_cooling(token) ? "cooling:" : is_revoked(token) ? "revoked:" : "";
  if (is_shared(token)) text += "shared:";
  if (is_reader(token)) text += 's';
  if (slots_of(token) != 0) {
    char head[8];
    std::snprintf(head, sizeof head, "p%02x%02x", static_cast<unsigned>(slot_of(token)),
                  static_cast<unsigned>(slots_of(token)));
    text += head;
  }
  text += static_cast<char>('A' + client_of(token));
  text += std::to_string(session_of(token));
  text += '.';
  return text += std::to_string(token & 0x4fffU & ~kSharedBit);
}

std::string slot_holder_text(Token token) {
  return token == kNoToken ? "" : token_text(token).substr(5, 4);
}

}  // namespace redlock::sim
