// SPDX-License-Identifier: MIT
//
// What the scripts do that give a lock back: release.lua, leave.lua, and leaving.lua, which
// leave_shared.lua includes too.
#include <algorithm>
#include <optional>

#include "server.h"

namespace redlock::sim {

namespace {

using Word = Response::Word;

bool is_over(const HolderHash::Hold& each, const Request& request, std::int64_t now) {
  if (each.token != request.token) return false;
  return each.hold == request.hold || (each.hold != each.token && each.ends_ms <= now);
}

}  // namespace

Response Server::release(const Request& request) {
  data_.holder.forget(request.token);
  Key& key = data_.lock;
  if (key.value == kNoToken) return {.word = Word::missing};
  if (key.value != request.token && key.value != cooling(request.token) &&
      key.value != revoked(request.token) && mutation_ != Mutation::release_any) {
    return {.word = Word::not_mine, .value = key.value};
  }
  key = {};
  return {.word = Word::released};
}

Response Server::leave(const Request& request, std::int64_t now) {
  Key& key = data_.lock;
  const Token cold = cooling(request.token);
  if (key.value == kNoToken) {
    data_.holder.forget(request.token);
    if (request.by == By::owner && note(request, settings_.ttl_ms, now)) {
      return {.word = Word::released};
    }
    return {.word = Word::missing};
  }
  const bool any = mutation_ == Mutation::release_any ||
                   (mutation_ == Mutation::cool_any && request.life_ms > 0);
  const bool was_revoked = key.value == revoked(request.token);
  if (key.value != request.token && key.value != cold && !was_revoked && !any) {
    data_.holder.forget(request.token);
    if (request.by == By::owner && note(request, settings_.ttl_ms, now)) {
      return {.word = Word::released};
    }
    return {.word = Word::not_mine, .value = key.value};
  }
  const auto joined = joined_by_others(request, now);
  if (!joined) return {.word = Word::kept};
  const bool others = *joined;
  std::int64_t keep = data_.holder.keep_token == request.token ? data_.holder.keep_until_ms : 0;
  if (others && mutation_ != Mutation::holds_forgotten) {
    drop_hold(request, now);
    if (request.life_ms > 0) {
      data_.holder.keep_token = request.token;
      data_.holder.keep_until_ms = std::max(keep, now + request.life_ms);
    }
    return {.word = Word::kept};
  }
  const std::int64_t rest = std::max(request.life_ms, keep - now);
  if (rest > 0 && key.value == cold) return {.word = Word::cooling};
  if (rest > 0 && !was_revoked) {
    const std::int64_t end = now + rest;
    key = {cold, key.expires_ms != 0 ? std::min(key.expires_ms, end) : end};
    data_.holder.expires_ms = key.expires_ms + 10'000;
    return {.word = Word::cooling};
  }
  const std::int64_t left = key.expires_ms == 0 ? -1 : key.expires_ms - now;
  key = {};
  data_.holder.forget(request.token);
  if (request.by != By::holder) note(request, std::max(left, settings_.ttl_ms), now);
  return {.word = Word::released};
}

/// Whether others hold the lock of this token, too; none: who asks never did.
std::optional<bool> Server::joined_by_others(const Request& request, std::int64_t now) const {
  bool known = request.hold == request.token;
  bool others = false;
  for (const HolderHash::Hold& each : data_.holder.holds) {
    if (each.token != request.token) continue;
    known |= each.hold == request.hold;
    others |= !is_over(each, request, now);
  }
  return known ? std::optional(others) : std::nullopt;
}

void Server::drop_hold(const Request& request, std::int64_t now) {
  std::erase_if(data_.holder.holds, [&](const auto& each) { return is_over(each, request, now); });
}

/// True if the keeper had done what the owner now asks for.
bool Server::note(const Request& request, std::int64_t life_ms, std::int64_t now) {
  std::optional<bool> before;
  std::erase_if(data_.notes, [&](const Note& each) {
    if (each.token == request.token) before = each.keepers;
    return each.token == request.token || each.ends_ms <= now;
  });
  const bool keepers = request.by == By::keeper && before != false;
  const bool told = mutation_ != Mutation::note_unsigned;
  data_.notes.insert(data_.notes.begin(), {request.token, keepers && told, now + life_ms});
  return before == true && !keepers;
}

bool Server::is_released(Token token) const {
  return std::any_of(data_.notes.begin(), data_.notes.end(),
                     [token](const Note& each) { return each.token == token; });
}

}  // namespace redlock::sim
