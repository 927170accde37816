// SPDX-License-Identifier: MIT
#include "lock/value.h"

namespace redlock::lock {

namespace {

constexpr std::string_view kCooling = "cooling:";
constexpr std::string_view kRevoked = "revoked:";
constexpr std::string_view kShared = "shared:";
constexpr std::string_view kOther = "type:";
constexpr std::string_view kBlanks = " \t\n\v\f\r";  // the blanks of %s in the scripts

}  // namespace

Value read_value(std::string_view text) {
  if (text.starts_with(kCooling)) return {Value::Kind::cooling, text.substr(kCooling.size()), {}};
  if (!text.starts_with(kRevoked)) return {Value::Kind::token, text, {}};
  const std::string_view rest = text.substr(kRevoked.size());
  const std::size_t end = rest.find_first_of(kBlanks);
  if (rest.empty() || end == 0) return {Value::Kind::token, text, {}};
  if (end == std::string_view::npos) return {Value::Kind::revoked, rest, {}};
  return {Value::Kind::revoked, rest.substr(0, end), rest.substr(end + 1)};
}

bool is_shared(std::string_view token) {
  return token.starts_with(kShared);
}

std::optional<std::string_view> type_of(std::string_view text) {
  if (!text.starts_with(kOther)) return std::nullopt;
  return text.substr(kOther.size());
}

std::string stand_in_for(std::string_view type) {
  return std::string(kOther).append(type);
}

}  // namespace redlock::lock
