// SPDX-License-Identifier: MIT
#include "token.h"

namespace redlock::sim {

std::string token_text(Token token) {
  std::string text = is_cooling(token) ? "cooling:" : is_revoked(token) ? "revoked:" : "";
  if (is_shared(token)) text += "shared:";
  if (is_reader(token)) text += 's';
  text += static_cast<char>('A' + client_of(token));
  text += std::to_string(session_of(token));
  text += '.';
  return text += std::to_string(token & 0x4fffU & ~kSharedBit);
}

}  // namespace redlock::sim
