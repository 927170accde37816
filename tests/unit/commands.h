// SPDX-License-Identifier: MIT
//
// Operations, commands and replies as tests need them: without details.
#pragma once

#include <initializer_list>
#include <utility>

#include "lock/vote.h"
#include "redis/requests/command.h"
#include "redis/wire/resp.h"

namespace redlock::tests {

template <std::size_t kIndex = 0>
lock::Operation operation_of(lock::Op op) {
  if constexpr (kIndex + 1 < std::variant_size_v<lock::Operation>) {
    if (static_cast<std::size_t>(op) != kIndex) return operation_of<kIndex + 1>(op);
  }
  return lock::Operation(std::in_place_index<kIndex>);
}

/// Commands that say nothing.
inline redis::Flight flight_of(std::size_t commands) {
  return {std::vector<redis::Command>(commands)};
}

/// The command's bytes.
inline std::string bytes_of(std::initializer_list<std::string_view> words) {
  std::string wire;
  redis::append_command(wire, std::vector(words));
  return wire;
}

inline redis::Value error_of(const std::string& text) {
  return {.type = redis::Value::Type::error, .text = text};
}

inline std::string bulk_of(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

/// The bytes of an array.
struct Wire : std::string {};

/// An array of texts, whole numbers, and arrays.
template <class... Elements>
Wire array_of(const Elements&... elements) {
  Wire wire{"*" + std::to_string(sizeof...(elements)) + "\r\n"};
  const auto append = [&wire](const auto& element) {
    using Element = std::remove_cvref_t<decltype(element)>;
    if constexpr (std::is_same_v<Element, Wire>) {
      wire.append(element);
    } else if constexpr (std::is_integral_v<Element>) {
      wire.append(":").append(std::to_string(element)).append("\r\n");
    } else {
      wire.append(bulk_of(element));
    }
  };
  (append(elements), ...);
  return wire;
}

}  // namespace redlock::tests
