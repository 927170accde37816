// SPDX-License-Identifier: MIT
#include "token.h"

#include <optional>

#include "lock/value.h"

namespace redlock::sim {

namespace {

/// "s", or "p", the slot and the number of slots.
std::string mode_text(Token token) {
  if (is_reader(token)) return "s";
  if (slots_of(token) == 0) return {};
  return lock::slot_head(slot_of(token), slots_of(token));
}

bool take(std::string_view& text, std::string_view head) {
  if (!text.starts_with(head)) return false;
  text.remove_prefix(head.size());
  return true;
}

void add_hex(std::string& text, Token number, unsigned digits) {
  while (digits-- > 0) text += "0123456789abcdef"[number >> 4U * digits & 0xfU];
}

std::optional<Token> take_hex(std::string_view& text, std::size_t digits) {
  Token number = 0;
  if (text.size() < digits) return std::nullopt;
  for (const char c : text.substr(0, digits)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
    number = number << 4U | static_cast<Token>(digit ? c - '0' : c - 'a' + 10);
  }
  text.remove_prefix(digits);
  return number;
}

/// The mode that a text begins with.
Token take_mode(std::string_view& text) {
  if (take(text, "s")) return kReaderBit;
  if (!take(text, "p")) return 0;
  const auto slot = take_hex(text, 2);
  const auto slots = take_hex(text, 2);
  return slot && slots ? kSlotBit | *slots << 32U | *slot << 36U : 0;
}

}  // namespace

std::string token_text(Token token) {
  if (token == kNoToken) return {};
  if (token == kForeignType) return "foreign";
  std::string text = is_cooling(token) ? "cooling:" : is_revoked(token) ? "revoked:" : "";
  if (is_shared(token)) text += "shared:";
  text += mode_text(token);
  text += static_cast<char>('A' + client_of(token));
  add_hex(text, session_of(token), 3);
  add_hex(text, token & 0x4fffU & ~kSharedBit, 4);
  return text;
}

Token token_of(std::string_view value) {
  if (value.empty()) return kNoToken;
  value = value.substr(0, value.find(' '));
  Token token = 0;
  if (take(value, "cooling:")) token = cooling(token);
  if (take(value, "revoked:")) token = revoked(token);
  if (take(value, "shared:")) token = shared(token);
  token |= take_mode(value);
  if (value.size() != 8 || value.front() < 'A' || value.front() > 'P') return kForeignType;
  const auto client = static_cast<std::uint32_t>(value.front() - 'A');
  value.remove_prefix(1);
  const auto session = take_hex(value, 3);
  const auto attempt = take_hex(value, 4);
  if (!session || !attempt) return kForeignType;
  return token | make_token(client, static_cast<std::uint32_t>(*session), 0) | *attempt;
}

std::string waiter_text(Waiter waiter) {
  std::string text = mode_text(waiter);
  add_hex(text, waiter & 0xffffffffU, 8);
  return text;
}

Waiter waiter_of(std::string_view id) {
  const Waiter mode = take_mode(id);
  return mode | take_hex(id, 8).value_or(0);
}

}  // namespace redlock::sim
