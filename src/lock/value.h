// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::lock {

/// What may stand in a lock's key (redlock-protocol(7)). Anybody may have written it.
struct Value {
  enum class Kind {
    token,    ///< a token, or what another program uses for one
    cooling,  ///< "cooling:TOKEN": the job is over, its minimum hold is not
    revoked,  ///< "revoked:TOKEN", or that with a blank and a note: it is being taken from its
              ///< holder
  };
  Kind kind = Kind::token;
  std::string_view token;  ///< whose lock it is, in every case; of readers: "shared:GENERATION"
  std::string_view note;   ///< who revoked it (JSON); empty if that is not known
};

/// The parts of a value, which live as long as `text` does.
constexpr Value read_value(std::string_view text) {
  constexpr std::string_view kCooling = "cooling:";
  constexpr std::string_view kRevoked = "revoked:";
  constexpr std::string_view kBlanks = " \t\n\v\f\r";  // the blanks of %s in the scripts
  if (text.starts_with(kCooling)) return {Value::Kind::cooling, text.substr(kCooling.size()), {}};
  if (!text.starts_with(kRevoked)) return {Value::Kind::token, text, {}};
  const std::string_view rest = text.substr(kRevoked.size());
  const std::size_t end = rest.find_first_of(kBlanks);
  if (rest.empty() || end == 0) return {Value::Kind::token, text, {}};
  if (end == std::string_view::npos) return {Value::Kind::revoked, rest, {}};
  return {Value::Kind::revoked, rest.substr(0, end), rest.substr(end + 1)};
}

/// Whether a Value::token, "shared:GENERATION", stands for the readers of a shared lock. Each
/// server may have another generation.
constexpr bool is_shared(std::string_view token) {
  return token.starts_with("shared:");
}

/// A key may hold something that is not a value. Then "type:" and the name of its type stand for
/// it, as in Refused::blocker. type_of: that name; none: `text` is a value.
inline constexpr std::string_view kNoValue = "type:";
constexpr std::optional<std::string_view> type_of(std::string_view text) {
  return text.starts_with(kNoValue) ? std::optional(text.substr(kNoValue.size())) : std::nullopt;
}
inline std::string stand_in_for(std::string_view type) {
  return std::string(kNoValue).append(type);
}

/// The length of redlock's tokens: 160 bits, in hexadecimal digits.
inline constexpr std::size_t kTokenDigits = 40;

/// The tokens of readers, and their names in the queue of waiters, begin with this: so whoever has
/// a token knows the mode of its lock.
inline constexpr char kReader = 's';

/// The tokens of those that have a slot begin with this, and two hexadecimal digits each for the
/// number of the slot, from 1, and the number of slots.
inline constexpr char kSlot = 'p';
inline constexpr std::size_t kMostSlots = 64;

constexpr bool is_of_slot(std::string_view token) {
  return token.starts_with(kSlot);
}

/// The tokens of a lock whose key is a hash, as Redisson's are, begin with this.
inline constexpr char kRedisson = 'r';

constexpr bool is_of_redisson(std::string_view token) {
  return token.starts_with(kRedisson);
}

/// Whether others may hold the lock at the same time: a reader's token, or that of a slot. Such
/// tokens stand in a list beside the lock's key.
constexpr bool is_of_reader(std::string_view token) {
  return token.starts_with(kReader) || is_of_slot(token);
}

/// Of a token with a slot, or of the value "shared:TOKEN" of a lock with slots.
struct SlotNumber {
  std::size_t slot = 0;
  std::size_t slots = 0;  ///< 0: this token has no slot
};
constexpr SlotNumber slot_of(std::string_view token) {
  if (token.starts_with("shared:")) token.remove_prefix(7);
  if (!is_of_slot(token) || token.size() < 5) return {};
  std::size_t both = 0;
  for (const char letter : token.substr(1, 4)) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(letter);
    if (digit == std::string_view::npos) return {};
    both = both * 16 + digit;
  }
  return {both / 256, both % 256};
}

/// The beginning of the token of that slot. Both at most kMostSlots.
inline std::string slot_head(std::size_t slot, std::size_t slots) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string head(1, kSlot);
  for (const std::size_t number : {slot, slots}) {
    head += digits[number / 16 % 16];
    head += digits[number % 16];
  }
  return head;
}

/// Whether a text has the form of redlock's tokens.
constexpr bool is_token(std::string_view text) {
  if (text.size() != kTokenDigits) return false;
  // These letters are not hexadecimal digits.
  if (is_of_reader(text) || is_of_redisson(text)) text.remove_prefix(1);
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace redlock::lock
