// SPDX-License-Identifier: MIT
//
// Strict on purpose: if we misunderstand a URI, we lock on the wrong server, or send a password as
// a user name.
#include "redis/wire/uri.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>
#include <utility>

#include "error.h"
#include "os/fd.h"
#include "os/printable.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::uint16_t kRedisPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;
constexpr std::size_t kMostNodes = 64;

/// A letter, a digit, or a byte of `also`.
bool is_plain(char c, std::string_view also) {
  return os::is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         also.find(c) != std::string_view::npos;
}

bool is_plain(std::string_view text, std::string_view also) {
  return std::ranges::all_of(text, [also](char c) { return is_plain(c, also); });
}

bool is_number(std::string_view text) {
  return std::ranges::all_of(text, os::is_digit);
}

/// The text before the first separator, and that after it, if there is one.
std::pair<std::string_view, std::optional<std::string_view>> cut(std::string_view text,
                                                                 char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

/// Hands the parts of a text with separators to f, at least one.
template <class F>
void each_part(std::string_view text, char separator, F f) {
  for (std::optional<std::string_view> rest = text; rest;) {
    const auto [part, others] = cut(*rest, separator);
    f(part);
    rest = others;
  }
}

/// "db1", "db1:6379", "db1,db2:6379", each with or without a database: "/2". More digits than a
/// port has may be a password.
bool is_place(std::string_view text) {
  constexpr std::size_t kLongestPort = 5;
  const auto [nodes, database] = cut(text, '/');
  bool fits = is_number(database.value_or(""));
  each_part(nodes, ',', [&fits](std::string_view node) {
    const auto [host, port] = cut(node, ':');
    const std::string_view digits = port.value_or("");
    fits = fits && !host.empty() && is_plain(host, ".-_") && is_number(digits) &&
           digits.size() <= kLongestPort;
  });
  return fits;
}

bool is_path(std::string_view text) {
  return text.starts_with('/') && is_plain(text, "/.-_");
}

/// The safe part of a rejected URI: all of it if it has the form of a place; otherwise we do not
/// know where its password is, and show the scheme: "redis://***". Empty if there is no scheme: the
/// word may itself be a password, or a part of one with blanks.
std::string redact(std::string_view uri) {
  constexpr std::size_t kLongestShown = 100;
  constexpr std::size_t kLongestScheme = 20;
  const std::size_t end = uri.find("://");
  if (end == 0 || end > kLongestScheme || !is_plain(uri.substr(0, end), "+-.")) return {};
  const std::string scheme(uri.substr(0, end + 3));
  const std::string_view rest = uri.substr(scheme.size());
  const bool place = scheme == "unix://" ? is_path(rest) : is_place(rest);
  return place && uri.size() <= kLongestShown ? std::string(uri) : scheme + "***";
}

/// The percent encoding; letters, digits, "-._~" and the bytes of `also_plain` stay.
std::string percent_encoded(std::string_view text, std::string_view also_plain) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || is_plain(c, "-._~") || is_plain(c, also_plain)) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

/// The URI that is being read. Each part is a piece of `whole`.
struct UriText {
  std::string_view whole;

  /// Throws Error (64) with `why`, and before it as much of the URI as cannot hold a password.
  [[noreturn]] void refuse(std::string_view why) const {
    std::string message = redact(whole);
    if (!message.empty()) message = '"' + message + "\": ";
    throw Error(ExitStatus::usage, message.append(why));
  }

  /// The part without its percent encoding.
  [[nodiscard]] std::string decode(std::string_view part) const {
    std::string out;
    for (std::size_t i = 0; i < part.size(); ++i) {
      char c = part[i];
      if (c == '%') {
        unsigned value = 0;
        const char* const first = part.data() + i + 1;
        if (part.size() - i < 3 || std::from_chars(first, first + 2, value, 16).ptr != first + 2) {
          refuse("\"%\" must be followed by two hex digits (a percent sign is written %25)");
        }
        c = static_cast<char>(value);
        i += 2;
      }
      if (os::is_control(c)) refuse("control bytes are not allowed");
      out += c;
    }
    return out;
  }

  [[nodiscard]] int database(std::string_view digits) const {
    return number(digits, 0, std::numeric_limits<int>::max(),
                  "the database must be a number from 0 to 2147483647");
  }

  /// "USER:PASSWORD". `place`: the name that messages use for the part after the "@".
  [[nodiscard]] Credentials user_and_password(std::string_view part, std::string_view place) const {
    const auto [user, password] = cut(part, ':');
    if (part.empty() || part == ":") {
      refuse("there is an \"@\" but no user and no password before it");
    }
    if (!password) {
      const std::string scheme(whole.substr(0, whole.find("://") + 3));
      const std::string at = "@" + std::string(place);
      refuse("is the word before \"@\" a password or a user? Write " + scheme + ":PASSWORD" + at +
             " or " + scheme + "USER:PASSWORD" + at +
             " (USER: alone if the password comes from --password-file)");
    }
    if (part.find('@') != std::string_view::npos) {
      refuse("in a user or password, \"@\" is written %40");
    }
    return {decode(user), decode(*password)};
  }

  /// "HOST", "HOST:PORT", "[IPV6]" or "[IPV6]:PORT".
  [[nodiscard]] Address address(std::string_view part, std::uint16_t default_port) const {
    auto [host, port] = cut(part, ':');
    std::string name(host);
    if (part.starts_with('[')) {
      const auto [inside, rest] = cut(part.substr(1), ']');
      if (!rest) refuse("\"[\" without \"]\"");
      name = decode(inside);
      // inet_pton knows no zones ("fe80::1%eth0"); connecting finds out whether the zone exists.
      in6_addr parsed{};
      if (inet_pton(AF_INET6, name.substr(0, name.find('%')).c_str(), &parsed) != 1) {
        refuse("the text in brackets is not an IPv6 address");
      }
      if (!rest->empty() && rest->front() != ':') refuse("only :port may follow \"]\"");
      port = cut(*rest, ':').second;
    } else {
      if (std::ranges::count(part, ':') > 1) {
        refuse("an IPv6 address must be in brackets, as in redis://[::1]:6379");
      }
      if (host.empty()) refuse("there is no host");
      if (!is_plain(host, ".-_")) {
        refuse("a host may hold letters, digits, \".\", \"-\" and \"_\" only");
      }
      if (host.size() > 253) refuse("the host is longer than 253 bytes");
    }
    const int number_of_port =
        port ? number(*port, 1, 65535, "the port must be a number from 1 to 65535") : default_port;
    return {std::move(name), static_cast<std::uint16_t>(number_of_port)};
  }

 private:
  [[nodiscard]] int number(std::string_view digits, int least, int most,
                           std::string_view why) const {
    int number = 0;
    const std::errc error = std::from_chars(digits.begin(), digits.end(), number).ec;
    if (!is_number(digits) || error != std::errc() || number < least || number > most) refuse(why);
    return number;
  }
};

std::vector<Address> parse_nodes(const UriText& text, std::string_view list, std::uint16_t port) {
  std::vector<Address> nodes;
  each_part(list, ',', [&](std::string_view part) {
    Address node = text.address(part, port);
    if (std::ranges::find(nodes, node) != nodes.end()) {
      text.refuse(node.display() + " occurs twice");
    }
    nodes.push_back(std::move(node));
    if (nodes.size() > kMostNodes) text.refuse("it names more than 64 nodes; a few are enough");
  });
  return nodes;
}

void parse_sentinel_query(const UriText& text, std::string_view query, Credentials& credentials) {
  each_part(query, '&', [&](std::string_view item) {
    const auto [key, value] = cut(item, '=');
    std::string* const place = key == "sentinel_username"   ? &credentials.user
                               : key == "sentinel_password" ? &credentials.password
                                                            : nullptr;
    if (place == nullptr || !value) {
      text.refuse("the only query keys are sentinel_username and sentinel_password");
    }
    if (!place->empty()) text.refuse(std::string(key) + " is given twice");
    *place = text.decode(*value);
    if (place->empty()) text.refuse(std::string(key) + " is empty");
  });
  if (credentials.password.empty()) text.refuse("sentinel_username needs a sentinel_password");
}

void parse_service(const UriText& text, std::string_view path, Endpoint& endpoint) {
  const auto [service, database] = cut(path, '/');
  endpoint.service = text.decode(service);
  if (endpoint.service.empty()) {
    text.refuse(
        "the name that the Sentinels have for the primary is missing: …/SERVICE, often "
        "/mymaster");
  }
  if (database && !database->empty()) endpoint.db = text.database(*database);
}

/// `rest`: the text after "://".
void parse_tcp(const UriText& text, std::string_view rest, Endpoint& endpoint) {
  using enum Endpoint::Kind;
  const auto [place, query] = cut(rest, '?');
  if (query && endpoint.kind != sentinel) {
    text.refuse(
        endpoint.kind == cluster
            ? "it takes no ?query"
            : "it takes no ?query; the database is written /N, all else has an option of its own");
  }
  auto [nodes, after_nodes] = cut(place, '/');
  const std::string_view path = after_nodes.value_or("");
  if (const std::size_t at = nodes.rfind('@'); at != std::string_view::npos) {
    endpoint.credentials = text.user_and_password(nodes.substr(0, at), "HOST");
    nodes.remove_prefix(at + 1);
  } else if (place.find('@') != std::string_view::npos) {
    text.refuse("in a user or password, \"/\" is written %2F");
  }
  if (endpoint.kind == tcp) {
    if (nodes.find(',') != nodes.npos) {
      text.refuse(
          "one URI with several hosts is a Cluster, redis+cluster://HOST,HOST, or Sentinels, "
          "redis+sentinel://HOST,HOST/SERVICE; several independent servers are one URI each");
    }
    endpoint.address = text.address(nodes, kRedisPort);
    if (!path.empty()) endpoint.db = text.database(path);
    return;
  }
  if (endpoint.kind == cluster && !path.empty() && path != "0") {
    text.refuse("a Redis Cluster has only database 0");
  }
  endpoint.nodes = parse_nodes(text, nodes, endpoint.kind == sentinel ? kSentinelPort : kRedisPort);
  if (endpoint.kind == sentinel) parse_service(text, path, endpoint);
  if (query) parse_sentinel_query(text, *query, endpoint.sentinel_credentials);
}

void parse_unix(const UriText& text, std::string_view rest, Endpoint& endpoint) {
  const auto [place, query] = cut(rest, '?');
  bool has_database = false;
  each_part(query.value_or("db=0"), '&', [&](std::string_view item) {
    if (!item.starts_with("db=")) text.refuse("the only query key is db, as in ?db=1");
    if (std::exchange(has_database, true)) text.refuse("db is given twice");
    endpoint.db = text.database(item.substr(3));
  });
  if (place.empty()) text.refuse("there is no path; write unix:///path/to/redis.sock");
  const std::size_t slash = place.find('/');
  std::string_view authority = place.substr(0, slash);
  if (authority.ends_with('@')) {
    endpoint.credentials =
        text.user_and_password(authority.substr(0, authority.size() - 1), "/PATH");
    authority = {};
  }
  if (slash == std::string_view::npos || !authority.empty()) {
    text.refuse("the path must be absolute, with three slashes: unix:///path/to/redis.sock");
  }
  endpoint.path = text.decode(place.substr(slash));
  if (endpoint.path.ends_with('/')) text.refuse("the path is a directory, not a socket");
  if (endpoint.path.size() > kMaxSocketPath) {
    text.refuse("the path is longer than the 107 bytes a socket's path can have");
  }
}

}  // namespace

std::string password_in(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return std::string(text.find('\n') == text.npos ? text : std::string_view());
}

std::string read_password(const std::string& file) {
  constexpr std::size_t kLongest = 64 * std::size_t{1024};
  const os::Fd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  std::string text;
  const bool read = fd && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                    os::read_all(fd.get(), text, kLongest) == 0;
  return read && text.size() <= kLongest ? password_in(text) : std::string();
}

std::string with_scheme(std::string_view word) {
  if (is_path(word)) return "unix://" + std::string(word);
  return is_place(word) ? "redis://" + std::string(word) : "";
}

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 253 && is_plain(text, ".-_:%");
}

std::string Address::display() const {
  // In brackets RFC 6874 wants the "%" of a zone encoded.
  std::string shown =
      host.find(':') != std::string::npos ? '[' + percent_encoded(host, ":") + ']' : host;
  return os::printable(shown.append(":").append(std::to_string(port)));
}

std::string Endpoint::display() const {
  std::string shown = kind == Kind::unix_socket ? "unix" : tls ? "rediss" : "redis";
  if (kind == Kind::cluster) shown += "+cluster";
  if (kind == Kind::sentinel) shown += "+sentinel";
  shown += "://";
  if (credentials.given()) {
    shown += percent_encoded(credentials.user, "");
    shown += credentials.password.empty() ? ":@" : ":***@";
  }
  if (kind == Kind::unix_socket) {
    shown += percent_encoded(path, "/:@+,=");
    if (db != 0) shown += "?db=" + std::to_string(db);
    return os::printable(shown);
  }
  if (!moves()) shown += address.display();
  for (const Address& node : nodes) shown += (&node == &nodes.front() ? "" : ",") + node.display();
  if (kind == Kind::sentinel) shown += '/' + percent_encoded(service, ":@+,=");
  if (db != 0) shown += '/' + std::to_string(db);
  return os::printable(shown);
}

std::string Endpoint::brief() const {
  constexpr std::size_t kMostNamed = 3;
  if (nodes.size() <= kMostNamed) return display();
  Endpoint shown = *this;
  shown.nodes.resize(1);
  return shown.display() + " and " + std::to_string(nodes.size() - 1) + " more";
}

Endpoint parse_uri(std::string_view uri) {
  const UriText text{uri};
  if (uri.empty()) throw Error(ExitStatus::usage, "a server URI is empty");
  if (std::ranges::any_of(uri, [](char c) { return os::is_control(c) || c == ' '; })) {
    text.refuse("spaces and control bytes are not allowed (a space is written %20)");
  }
  // A comma separates nodes of one server. Only blanks separate servers.
  for (const char mark : {',', ';'}) {
    const std::size_t at = uri.find(mark);
    if (at == uri.npos || (at + 1 != uri.size() && uri.find("://", at) == uri.npos)) continue;
    text.refuse(std::string("separate several servers by blanks, not by ") +
                (mark == ',' ? "commas" : "semicolons") + ", or give each its own -S");
  }
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
  const auto [family, topology] = cut(scheme, '+');
  const bool tls = family == "rediss" || family == "valkeys";
  const bool tcp = tls || family == "redis" || family == "valkey";
  const bool known = !topology || topology == "cluster" || topology == "sentinel";
  if (scheme != "unix" && (!tcp || !known)) {
    text.refuse(
        "unknown scheme; use redis://, rediss:// (TLS), unix://, redis+cluster:// or "
        "redis+sentinel://");
  }
  if (rest.find('#') != std::string_view::npos) text.refuse("\"#\" is written %23");
  Endpoint endpoint;
  endpoint.tls = tls;
  endpoint.kind = scheme == "unix"         ? Endpoint::Kind::unix_socket
                  : topology == "cluster"  ? Endpoint::Kind::cluster
                  : topology == "sentinel" ? Endpoint::Kind::sentinel
                                           : Endpoint::Kind::tcp;
  (scheme == "unix" ? parse_unix : parse_tcp)(text, rest, endpoint);
  return endpoint;
}

}  // namespace redlock::redis
