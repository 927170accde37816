// SPDX-License-Identifier: MIT
#include "redis/wire/reading.h"

#include <algorithm>
#include <charconv>

namespace redlock::redis {
namespace {

// A longer time is cut to this one: the state machine adds times to instants, in nanoseconds.
constexpr std::chrono::milliseconds kMostTime = std::chrono::hours(24 * 3650);

}  // namespace

std::optional<std::uint64_t> read_number(const Value& value) {
  constexpr std::uint64_t kMost = 1ULL << 53U;
  if (value.type != Value::Type::string) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, number);
  if (error != std::errc{} || stop != end || number > kMost) return std::nullopt;
  return number;
}

std::chrono::milliseconds read_length(const Value& value) {
  return std::chrono::milliseconds(std::clamp<std::int64_t>(value.integer, 0, kMostTime.count()));
}

std::optional<lock::Done> read_done(const Value& reply) {
  using enum Value::Type;
  if (reply.elements.size() != 4) return std::nullopt;
  const Value& age = reply.elements[1];
  const Value& left = reply.elements[2];
  const Value& who = reply.elements[3];
  if (age.type != integer || left.type != integer || who.type != string) return std::nullopt;
  return lock::Done{read_length(age), read_length(left), who.text};
}

}  // namespace redlock::redis
