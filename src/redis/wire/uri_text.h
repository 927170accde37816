// SPDX-License-Identifier: MIT
//
// The parts of a server's URI: how each is read, refused and shown. Absent on purpose: the order of
// the parts (uri.cc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "redis/wire/credentials.h"

namespace redlock::redis {

/// Where a TCP server listens.
struct Address {
  std::string host;  ///< a name, an IPv4 address or an IPv6 address, without brackets
  std::uint16_t port = 0;

  bool operator==(const Address&) const = default;

  /// As it stands in a URI, "db1:6379" or "[::1]:6379". Safe to print.
  [[nodiscard]] std::string display() const;
};

/// The URI that is being read. Each part is a piece of `whole`.
struct UriText {
  std::string_view whole;

  /// Throws Error (64) with `why`, and before it as much of the URI as cannot hold a password.
  [[noreturn]] void refuse(std::string_view why) const;

  /// Throws if spaces or control bytes are in it.
  void check_bytes() const;

  /// The part without its percent encoding.
  [[nodiscard]] std::string decode(std::string_view part) const;

  /// 0 to 2^31-1.
  [[nodiscard]] int database(std::string_view digits) const;

  /// "USER:PASSWORD". `place`: the name that messages use for the part behind the "@".
  [[nodiscard]] Credentials user_and_password(std::string_view part, std::string_view place) const;

  /// "HOST", "HOST:PORT", "[IPV6]" or "[IPV6]:PORT".
  [[nodiscard]] Address address(std::string_view part, std::uint16_t default_port) const;
};

bool is_control_byte(char c);

/// Whether a text from a server can be a host: a name or an address, as in Address.
bool is_host(std::string_view text);

/// The percent encoding; letters, digits, "-._~" and the bytes of `also_plain` stay.
std::string percent_encoded(std::string_view text, std::string_view also_plain);

}  // namespace redlock::redis
