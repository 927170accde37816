// SPDX-License-Identifier: MIT
//
// The values that a lock's key may hold: tokens of simulated processes, as numbers.
#pragma once

#include <cstdint>
#include <string>

#include "lock/vote.h"

namespace redlock::sim {

/// What a key may hold: a token by its number. 0: nothing; the largest: a key that is no string.
using Token = std::uint32_t;
inline constexpr Token kNoToken = 0;
inline constexpr Token kForeignType = ~Token{0};
inline constexpr std::uint32_t kForeigner = 15;  ///< as a client: some other program

/// A reader's token, and its name in the line of waiters.
inline constexpr Token kReaderBit = 0x2000U;
/// What is in the key of a shared lock: the generation, which is a reader's token.
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
constexpr Token for_mode(Token token, bool reads) {
  return reads ? token | kReaderBit : token;
}
constexpr bool is_reader(Token token) {
  return token != kForeignType && (token & kReaderBit) != 0;
}
constexpr bool is_shared(Token value) {
  return is_reader(value) && (value & kSharedBit) != 0;
}
/// The value for the generation that begins with this reader.
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
  return value == kForeignType ? value : value & ~(1U << 26U | 0x8000U);
}
/// "B3.2": client B, its third run, second attempt. Short enough not to be allocated.
std::string token_text(Token token);

}  // namespace redlock::sim
