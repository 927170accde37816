// SPDX-License-Identifier: MIT
//
// The Redis serialization protocol (RESP2, https://redis.io/docs/reference/protocol-spec/). Only
// this part uses hiredis. Absent on purpose: sockets, RESP3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::redis {

/// Adds a command in the form for the wire.
void append_command(std::string& wire, std::span<const std::string_view> words);

/// A reply of a server. Untrusted: any type may come in place of the expected one.
struct Value {
  enum class Type { string, status, error, integer, nil, array, other };
  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string text{};  ///< string, status, error
  std::vector<Value> elements{};
};

struct ReplyLimits {
  std::size_t bytes = 1024 * 1024;  ///< on the wire
  std::size_t of_array = 1024;      ///< elements of one array
  std::size_t of_reply = 8 * 1024;  ///< elements of all its arrays
};

/// Cuts a stream of bytes into replies. It bounds memory whatever the peer sends.
class ReplyParser {
 public:
  explicit ReplyParser(ReplyLimits limits = {});
  ~ReplyParser();

  void feed(std::string_view bytes);
  std::optional<Value> next();  ///< a complete reply

  /// The bytes were not RESP2, or exceeded the limits; no further reply will come.
  [[nodiscard]] bool broken() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace redlock::redis
