// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::redis {

/// The user and password for AUTH. An empty user is the default user. A user without a password
/// here (`redis://backup:@db1`) gets one from elsewhere (--password-file) or needs none (nopass):
/// AUTH is sent all the same, as a request must never run as another user.
struct Credentials {
  std::string user;
  std::string password;
  std::string source = {};  ///< of the password, for messages: a file, a variable, "its URI in …"
  std::string file = {};    ///< where the password came from; empty: it cannot change

  [[nodiscard]] bool given() const { return !user.empty() || !password.empty(); }
};

/// Where a TCP server listens.
struct Address {
  std::string host;  ///< a name, an IPv4 address or an IPv6 address, without brackets
  std::uint16_t port = 0;

  bool operator==(const Address&) const = default;

  /// As it stands in a URI, "db1:6379" or "[::1]:6379". Safe to print.
  [[nodiscard]] std::string display() const;
};

/// One server, from its URI: --server in redlock(1) has the forms. User, password, path and service
/// are percent-decoded.
struct Endpoint {
  enum class Kind {
    tcp,
    unix_socket,
    cluster,  ///< a Redis Cluster: for each key, the primary that has it
    sentinel  ///< the primary that Sentinels name
  };
  Kind kind = Kind::tcp;
  bool tls = false;       ///< never with unix_socket
  Address address;        ///< tcp
  std::size_t first = 0;  ///< which of the addresses of that name to try first, in turn
  std::string path;       ///< unix_socket: the socket
  int db = 0;             ///< 0 to 2^31-1, for SELECT
  Credentials credentials;
  /// cluster: the nodes to ask for the others; sentinel: the Sentinels. Empty for other kinds.
  std::vector<Address> nodes;
  std::string service;               ///< sentinel: the name that they have for the primary
  Credentials sentinel_credentials;  ///< sentinel: for the Sentinels themselves

  /// The address may change while we use the server.
  [[nodiscard]] bool moves() const { return kind == Kind::cluster || kind == Kind::sentinel; }

  /// The URI for messages, in one canonical form and never with a password:
  /// "redis://backup:***@db1:6379/2".
  [[nodiscard]] std::string display() const;

  /// The same, but of more than three nodes only the first: "redis+cluster://db1:6379 and 5 more".
  [[nodiscard]] std::string brief() const;
};

/// Throws Error (64; the caller makes it 78 if the URI came from the environment or a file) with
/// one line that names the problem and shows the URI redacted.
Endpoint parse_uri(std::string_view uri);

/// The password that the text of a file holds: its one line. Empty: there is none.
std::string password_in(std::string_view text);

/// The password that a regular file holds now. Empty: there is none, or it cannot be read.
std::string read_password(const std::string& file);

/// What a host ("db1:6379") or a path was probably meant to be: a URI. Empty: the word is neither.
std::string with_scheme(std::string_view word);

/// Whether a text from a server can be a host: a name or an address, as in Address.
bool is_host(std::string_view text);

}  // namespace redlock::redis
