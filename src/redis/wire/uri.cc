// SPDX-License-Identifier: MIT
//
// Strict on purpose: if we misunderstand a URI, we lock on the wrong server, or send a password as
// a user name.
#include "redis/wire/uri.h"

#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "error.h"
#include "os/printable.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::uint16_t kRedisPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;
constexpr std::size_t kMostNodes = 64;

/// What stands behind "://" of a URI of TCP servers.
struct TcpParts {
  Credentials credentials;
  std::string_view authority;  ///< one or more addresses
  std::string_view path;       ///< behind the "/"; empty: none
  std::string_view query;      ///< behind the "?"; empty: none
  bool has_query = false;
};

TcpParts split_tcp(const UriText& text, std::string_view rest) {
  TcpParts parts;
  const std::size_t query = rest.find('?');
  parts.has_query = query != std::string_view::npos;
  if (parts.has_query) parts.query = rest.substr(query + 1);
  rest = rest.substr(0, query);
  const std::size_t slash = rest.find('/');
  parts.authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) parts.path = rest.substr(slash + 1);
  const std::size_t at = parts.authority.rfind('@');
  if (at == std::string_view::npos && rest.find('@') != std::string_view::npos) {
    text.refuse("in a user or password, \"/\" is written %2F");
  }
  if (at != std::string_view::npos) {
    parts.credentials = text.user_and_password(parts.authority.substr(0, at), "HOST");
    parts.authority = parts.authority.substr(at + 1);
  }
  return parts;
}

void parse_tcp(const UriText& text, std::string_view rest, Endpoint& endpoint) {
  if (rest.find('?') != std::string_view::npos) {
    text.refuse(
        "it takes no ?query; the database is written /N, all else has an option of its own");
  }
  TcpParts parts = split_tcp(text, rest);
  Address address = text.address(parts.authority, kRedisPort);
  endpoint.credentials = std::move(parts.credentials);
  endpoint.host = std::move(address.host);
  endpoint.port = address.port;
  if (!parts.path.empty()) endpoint.db = text.database(parts.path);
}

std::vector<Address> parse_nodes(const UriText& text, std::string_view list, std::uint16_t port) {
  std::vector<Address> nodes;
  while (true) {
    const std::size_t comma = list.find(',');
    Address node = text.address(list.substr(0, comma), port);
    if (std::ranges::find(nodes, node) != nodes.end()) {
      text.refuse(node.display() + " occurs twice");
    }
    nodes.push_back(std::move(node));
    if (nodes.size() > kMostNodes) text.refuse("it names more than 64 nodes; a few are enough");
    if (comma == std::string_view::npos) return nodes;
    list.remove_prefix(comma + 1);
  }
}

void parse_cluster(const UriText& text, std::string_view rest, Endpoint& endpoint) {
  endpoint.kind = Endpoint::Kind::cluster;
  TcpParts parts = split_tcp(text, rest);
  if (parts.has_query) text.refuse("it takes no ?query");
  if (!parts.path.empty() && parts.path != "0") text.refuse("a Redis Cluster has only database 0");
  endpoint.nodes = parse_nodes(text, parts.authority, kRedisPort);
  endpoint.credentials = std::move(parts.credentials);
}

void parse_sentinel_query(const UriText& text, std::string_view query, Credentials& credentials) {
  while (true) {
    const std::size_t end = query.find('&');
    const std::string_view item = query.substr(0, end);
    const std::size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    std::string* const place = key == "sentinel_username"   ? &credentials.user
                               : key == "sentinel_password" ? &credentials.password
                                                            : nullptr;
    if (place == nullptr || equals == std::string_view::npos) {
      text.refuse("the only query keys are sentinel_username and sentinel_password");
    }
    if (!place->empty()) text.refuse(std::string(key) + " is given twice");
    *place = text.decode(item.substr(equals + 1));
    if (place->empty()) text.refuse(std::string(key) + " is empty");
    if (end == std::string_view::npos) break;
    query.remove_prefix(end + 1);
  }
  if (credentials.password.empty()) text.refuse("sentinel_username needs a sentinel_password");
}

void parse_sentinel(const UriText& text, std::string_view rest, Endpoint& endpoint) {
  endpoint.kind = Endpoint::Kind::sentinel;
  TcpParts parts = split_tcp(text, rest);
  endpoint.nodes = parse_nodes(text, parts.authority, kSentinelPort);
  endpoint.credentials = std::move(parts.credentials);
  const std::size_t slash = parts.path.find('/');
  endpoint.service = text.decode(parts.path.substr(0, slash));
  if (endpoint.service.empty()) {
    text.refuse(
        "the name that the Sentinels have for the primary is missing: …/SERVICE, often "
        "/mymaster");
  }
  if (slash != std::string_view::npos && slash + 1 < parts.path.size()) {
    endpoint.db = text.database(parts.path.substr(slash + 1));
  }
  if (parts.has_query) parse_sentinel_query(text, parts.query, endpoint.sentinel_credentials);
}

void parse_unix_query(const UriText& text, std::string_view query, Endpoint& endpoint) {
  bool seen = false;
  while (true) {
    const std::size_t end = query.find('&');
    const std::string_view item = query.substr(0, end);
    if (!item.starts_with("db=")) text.refuse("the only query key is db, as in ?db=1");
    if (std::exchange(seen, true)) text.refuse("db is given twice");
    endpoint.db = text.database(item.substr(3));
    if (end == std::string_view::npos) return;
    query.remove_prefix(end + 1);
  }
}

void parse_unix(const UriText& text, std::string_view rest, Endpoint& endpoint) {
  endpoint.kind = Endpoint::Kind::unix_socket;
  const std::size_t query = rest.find('?');
  if (query != std::string_view::npos) parse_unix_query(text, rest.substr(query + 1), endpoint);
  rest = rest.substr(0, query);
  if (rest.empty()) text.refuse("there is no path; write unix:///path/to/redis.sock");
  const std::size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  if (authority.ends_with('@')) {
    endpoint.credentials =
        text.user_and_password(authority.substr(0, authority.size() - 1), "/PATH");
    authority = {};
  }
  if (slash == std::string_view::npos || !authority.empty()) {
    text.refuse("the path must be absolute, with three slashes: unix:///path/to/redis.sock");
  }
  endpoint.path = text.decode(rest.substr(slash));
  if (endpoint.path.ends_with('/')) text.refuse("the path is a directory, not a socket");
  if (endpoint.path.size() > kMaxSocketPath) {
    text.refuse("the path is longer than the 107 bytes a socket's path can have");
  }
}

/// A comma separates nodes of one server, but never servers.
void check_commas(const UriText& text) {
  const std::string_view uri = text.whole;
  const std::size_t comma = uri.find(',');
  if (comma == std::string_view::npos) return;
  const bool several = comma + 1 == uri.size() || uri.find("://", comma) != std::string_view::npos;
  if (several)
    text.refuse("separate several servers by blanks, not by commas; -S takes one server");
}

std::string scheme_shown(const Endpoint& endpoint) {
  if (endpoint.kind == Endpoint::Kind::unix_socket) return "unix://";
  std::string scheme = endpoint.tls ? "rediss" : "redis";
  if (endpoint.kind == Endpoint::Kind::cluster) scheme += "+cluster";
  if (endpoint.kind == Endpoint::Kind::sentinel) scheme += "+sentinel";
  return scheme + "://";
}

std::string nodes_shown(const std::vector<Address>& nodes) {
  std::string shown;
  for (const Address& node : nodes) shown += (shown.empty() ? "" : ",") + node.display();
  return shown;
}

}  // namespace

std::string Endpoint::display() const {
  std::string shown = scheme_shown(*this);
  if (credentials.given()) {
    shown += percent_encoded(credentials.user, "");
    shown += credentials.password.empty() ? ":@" : ":***@";
  }
  if (kind == Kind::unix_socket) {
    shown += percent_encoded(path, "/:@+,=");
    if (db != 0) shown += "?db=" + std::to_string(db);
    return os::printable(shown);
  }
  shown += moves() ? nodes_shown(nodes) : Address{host, port}.display();
  if (kind == Kind::sentinel) shown += '/' + percent_encoded(service, ":@+,=");
  if (db != 0) shown += '/' + std::to_string(db);
  return os::printable(shown);
}

std::string Endpoint::brief() const {
  constexpr std::size_t kMostNamed = 3;
  if (nodes.size() <= kMostNamed) return display();
  Endpoint first = *this;
  first.nodes.resize(1);
  return first.display() + " and " + std::to_string(nodes.size() - 1) + " more";
}

Endpoint parse_uri(std::string_view uri) {
  const UriText text{uri};
  if (uri.empty()) throw Error(ExitStatus::usage, "a server URI is empty");
  text.check_bytes();
  check_commas(text);
  const std::size_t separator = uri.find("://");
  if (separator == std::string_view::npos) {
    text.refuse(uri.starts_with('/')
                    ? "not a valid server URI; put unix:// before the path: unix:///PATH"
                    : "not a valid server URI; put redis:// before the host: redis://HOST:PORT");
  }
  std::string scheme(uri.substr(0, separator));
  std::ranges::transform(scheme, scheme.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view rest = uri.substr(separator + 3);
  const std::string_view family = std::string_view(scheme).substr(0, scheme.find('+'));
  const std::string_view topology = std::string_view(scheme).substr(family.size());
  const bool tls = family == "rediss" || family == "valkeys";
  const bool tcp = tls || family == "redis" || family == "valkey";
  const bool known = topology.empty() || topology == "+cluster" || topology == "+sentinel";
  if (scheme != "unix" && (!tcp || !known)) {
    text.refuse(
        "unknown scheme; use redis://, rediss:// (TLS), unix://, redis+cluster:// or "
        "redis+sentinel://");
  }
  if (rest.find('#') != std::string_view::npos) text.refuse("\"#\" is written %23");
  Endpoint endpoint;
  endpoint.tls = tls;
  if (scheme == "unix") {
    parse_unix(text, rest, endpoint);
  } else if (topology == "+cluster") {
    parse_cluster(text, rest, endpoint);
  } else if (topology == "+sentinel") {
    parse_sentinel(text, rest, endpoint);
  } else {
    parse_tcp(text, rest, endpoint);
  }
  return endpoint;
}

}  // namespace redlock::redis
