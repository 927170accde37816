// SPDX-License-Identifier: MIT
#include "holder_hash.h"

#include <algorithm>

namespace redlock::sim {

HolderHash::Numbered& HolderHash::numbered(Token token) {
  for (Numbered& each : numbers) {
    if (each.token == token) return each;
  }
  const bool rest = !holds.empty() || keep_token != kNoToken;
  if (numbers.empty() && !rest) expires_ms = kNever;
  return numbers.emplace_back(Numbered{token, 0, false});
}

std::uint64_t HolderHash::number(Token token) const {
  for (const Numbered& each : numbers) {
    if (each.token == token) return each.fence;
  }
  return 0;
}

void HolderHash::put_hold(Token token, Token hold, std::int64_t ends_ms) {
  std::erase_if(holds, [&](const Hold& each) { return each.token == token && each.hold == hold; });
  holds.push_back({token, hold, ends_ms});
}

bool HolderHash::is_held(Token token) const {
  return std::any_of(holds.begin(), holds.end(),
                     [token](const Hold& each) { return each.token == token; });
}

void HolderHash::forget(Token token) {
  std::erase_if(numbers, [token](const Numbered& each) { return each.token == token; });
  std::erase_if(holds, [token](const Hold& each) { return each.token == token; });
  if (keep_token == token) keep_token = kNoToken;
}

void HolderHash::forget_all() {
  numbers.clear();
  holds.clear();
  keep_token = kNoToken;
}

}  // namespace redlock::sim
