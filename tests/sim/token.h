// SPDX-License-Identifier: MIT
//
// The values that a lock's key may hold: tokens of simulated processes, as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lock/vote.h"

namespace redlock::sim {

/// What a key may hold: a token by its number. 0: nothing; the largest: a key that is no string.
using Token = std::uint64_t;
inline constexpr Token kNoToken = 0;
inline constexpr Token kForeignType = ~Token{0};
inline constexpr std::uint32_t kForeigner = 15;  ///< as a client: some other program

/// The mode, in a token and in a waiter's name in the queue. The order of the numbers is that of
/// the texts, which begin with 's' for a reader and with 'p' for a slot.
inline constexpr Token kReaderBit = Token{1} << 41U;
inline constexpr Token kSlotBit = Token{1} << 40U;
/// What is in the key of a shared lock, also of one with slots: the generation, which is the token
/// of one of its holders.
inline constexpr Token kSharedBit = 0x1000U;

constexpr Token make_token(std::uint32_t client, std::uint32_t session, std::uint32_t attempt) {
  return 1U << 31U | client << 27U | (session & 0x3ffU) << 16U | (attempt & 0x7fffU);
}
constexpr std::uint32_t client_of(Token token) {
  return token >> 27U & 0xfU;
}
constexpr std::uint32_t session_of(Token token) {
  return token >> 16U & 0x3ffU;
}
/// An attempt's own, also if it is to join another's.
constexpr Token own_token(std::uint32_t client, std::uint32_t session, lock::AttemptId attempt) {
  return make_token(client, session,
                    lock::is_join(attempt) ? 0x4000U | (attempt & 0xfffU) : attempt & 0xfffU);
}

/// How a process asks for the lock.
struct Mode {
  bool reads = false;
  std::uint8_t slots = 0;  ///< of the lock; 0: it has none
};
/// The token for a slot of that mode; of a waiter, which is for any: 0.
constexpr Token for_mode(Token token, const Mode& mode, std::size_t slot = 0) {
  if (mode.reads) return token | kReaderBit;
  return mode.slots == 0 ? token : token | kSlotBit | Token{mode.slots} << 32U | Token{slot} << 36U;
}
constexpr bool is_reader(Token token) {
  return token != kForeignType && (token & kReaderBit) != 0;
}
/// So many slots has the lock of which this token has one; 0: it is of no slot.
constexpr std::size_t slots_of(Token token) {
  return token == kForeignType || (token & kSlotBit) == 0 ? 0 : token >> 32U & 0xfU;
}
constexpr std::size_t slot_of(Token token) {
  return slots_of(token) == 0 ? 0 : token >> 36U & 0xfU;
}
/// Whether others may hold the lock at the same time.
constexpr bool is_listed(Token token) {
  return is_reader(token) || slots_of(token) != 0;
}
/// Of the same kind: both readers, or for slots of a lock that has as many.
constexpr bool same_kind(Token a, Token b) {
  return is_reader(a) == is_reader(b) && slots_of(a) == slots_of(b);
}
/// Both may hold the lock at the same time.
constexpr bool may_be_together(Token a, Token b) {
  return is_listed(a) && same_kind(a, b) && (is_reader(a) || slot_of(a) != slot_of(b));
}
constexpr bool is_shared(Token value) {
  return is_listed(value) && (value & kSharedBit) != 0;
}
/// The value for the generation that begins with this token.
constexpr Token shared(Token token) {
  return token | kSharedBit;
}
/// What a release with a minimum hold leaves in the key: the token, cooling.
constexpr Token cooling(Token token) {
  return token | 0x8000U;
}
constexpr bool is_cooling(Token value) {
  return value != kForeignType && (value & 0x8000U) != 0;
}
/// What a forced release leaves in the key: the token, revoked.
constexpr Token revoked(Token token) {
  return token | 1U << 26U;
}
constexpr bool is_revoked(Token value) {
  return value != kForeignType && (value & 1U << 26U) != 0;
}
/// Whose lock a value is.
constexpr Token plain(Token value) {
  return value == kForeignType ? value : value & ~Token{1U << 26U | 0x8000U};
}
/// "B0030002": client B, its third run, second attempt; of the first slot of three:
/// "p0103B0030002". Of one length, as real tokens are, and short enough not to be allocated.
std::string token_text(Token token);
/// What is in a key: the inverse.
Token token_of(std::string_view value);

/// A waiter by its number: the order of the numbers is the order of the ids. 0: none.
using Waiter = std::uint64_t;
inline constexpr Waiter kNoWaiter = 0;
/// Its id: redlock's own have their mode in front, too.
std::string waiter_text(Waiter waiter);
Waiter waiter_of(std::string_view id);

}  // namespace redlock::sim
