// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "redis/credentials.h"

namespace redlock::redis {

/// One server, from its URI:
///   redis://[user:password@]host[:port][/db]    (valkey:// is the same)
///   rediss://…                                  the same with TLS (as valkeys://)
///   unix:///path[?db=N]                         (unix://[user:password@]/path too)
/// host may be a name, an IPv4 address or an IPv6 address in brackets. User, password, path are
/// percent-decoded. Port defaults to 6379, db to 0.
struct Endpoint {
  enum class Kind { tcp, unix_socket };
  Kind kind = Kind::tcp;
  bool tls = false;  ///< tcp only
  std::string host;  ///< without brackets
  std::uint16_t port = 6379;
  std::string path;  ///< unix_socket: the socket
  int db = 0;        ///< 0 to 2^31-1, for SELECT
  Credentials credentials;

  /// The URI for messages: never with a password ("redis://backup:***@db1:6379/2"). It is in one
  /// canonical form, whatever the user left out.
  [[nodiscard]] std::string display() const;
};

/// Throws Error (64; the caller makes it 78 if the URI came from the environment or a file) with
/// one line that names the problem and shows the URI redacted.
Endpoint parse_uri(std::string_view uri);

}  // namespace redlock::redis
