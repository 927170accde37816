// SPDX-License-Identifier: MIT
//
// Strict on purpose: if we misunderstand a URI, we lock on the wrong server, or send a password as
// a user name. For a URI that we refuse, no message repeats anything behind the scheme: we do not
// know where its password is.
#include "redis/uri.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include <utility>

#include "error.h"
#include "os/printable.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

bool is_control_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The scheme alone, if there is one: "redis://***".
std::string redact(std::string_view uri) {
  const std::size_t end = uri.find("://");
  const std::string_view scheme = uri.substr(0, end == std::string_view::npos ? 0 : end);
  const bool plain = std::ranges::all_of(scheme, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '-' || c == '.';
  });
  constexpr std::size_t kLongest = 20;
  if (scheme.empty() || scheme.size() > kLongest || !plain) return "***";
  return std::string(scheme) + "://***";
}

/// The URI that is being read, and how to refuse it.
struct Text {
  std::string_view whole;

  [[noreturn]] void refuse(std::string_view why) const {
    std::string message = "server URI \"" + redact(whole) + "\": ";
    throw Error(ExitStatus::usage, message.append(why));
  }

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
      if (is_control_byte(c)) refuse("control bytes are not allowed");
      out += c;
    }
    return out;
  }
};

int parse_db(const Text& text, std::string_view digits) {
  int db = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, db);
  if (digits.empty() || !is_digit(digits.front()) || error != std::errc() || stop != end) {
    text.refuse("the database must be a number from 0 to 2147483647");
  }
  return db;
}

/// `place`: the name that messages use for the part behind the "@".
Credentials parse_userinfo(const Text& text, std::string_view userinfo, std::string_view place) {
  const std::size_t colon = userinfo.find(':');
  if (userinfo.empty() || userinfo == ":") {
    text.refuse("there is an \"@\" but no user and no password before it");
  }
  if (colon == std::string_view::npos) {
    const std::string scheme(text.whole.substr(0, text.whole.find("://") + 3));
    const std::string at = "@" + std::string(place);
    text.refuse("is the word before \"@\" a password or a user? Write " + scheme + ":PASSWORD" +
                at + " or " + scheme + "USER:PASSWORD" + at +
                " (USER: alone if the password comes from --password-file)");
  }
  if (userinfo.find('@') != std::string_view::npos) {
    text.refuse("in a user or password, \"@\" is written %40");
  }
  return {text.decode(userinfo.substr(0, colon)), text.decode(userinfo.substr(colon + 1))};
}

std::uint16_t parse_port(const Text& text, std::string_view digits) {
  unsigned port = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, port);
  if (digits.empty() || error != std::errc() || stop != end || port < 1 || port > 65535) {
    text.refuse("the port must be a number from 1 to 65535");
  }
  return static_cast<std::uint16_t>(port);
}

void check_ipv6(const Text& text, std::string_view host) {
  // inet_pton does not know zones ("fe80::1%eth0"); connecting finds out whether the zone exists.
  const std::string address(host.substr(0, host.find('%')));
  in6_addr parsed{};
  if (inet_pton(AF_INET6, address.c_str(), &parsed) != 1) {
    text.refuse("the text in brackets is not an IPv6 address");
  }
}

void check_host(const Text& text, std::string_view host) {
  if (host.empty()) text.refuse("there is no host");
  const bool plain = std::ranges::all_of(host, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
  });
  if (!plain) text.refuse("a host may hold letters, digits, \".\", \"-\" and \"_\" only");
  if (host.size() > 253) text.refuse("the host is longer than 253 bytes");
}

void parse_host_and_port(const Text& text, std::string_view authority, Endpoint& endpoint) {
  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) text.refuse("\"[\" without \"]\"");
    endpoint.host = text.decode(authority.substr(1, close - 1));
    check_ipv6(text, endpoint.host);
    const std::string_view rest = authority.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') text.refuse("only :port may follow \"]\"");
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else {
    if (std::ranges::count(authority, ':') > 1) {
      text.refuse("an IPv6 address must be in brackets, as in redis://[::1]:6379");
    }
    const std::size_t colon = authority.find(':');
    endpoint.host = authority.substr(0, colon);
    check_host(text, endpoint.host);
    has_port = colon != std::string_view::npos;
    if (has_port) port = authority.substr(colon + 1);
  }
  if (has_port) endpoint.port = parse_port(text, port);
}

void parse_tcp(const Text& text, std::string_view rest, Endpoint& endpoint) {
  const std::size_t query = rest.find('?');
  if (query != std::string_view::npos) {
    text.refuse("takes no ?query; the database is written /N, all else has an option of its own");
  }
  const std::size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos && rest.find('@') != std::string_view::npos) {
    text.refuse("in a user or password, \"/\" is written %2F");
  }
  if (at != std::string_view::npos) {
    const std::string_view place = authority.substr(at + 1);
    endpoint.credentials = parse_userinfo(text, authority.substr(0, at), "HOST");
    authority = place;
  }
  parse_host_and_port(text, authority, endpoint);
  if (slash != std::string_view::npos && slash + 1 < rest.size()) {
    endpoint.db = parse_db(text, rest.substr(slash + 1));
  }
}

void parse_query(const Text& text, std::string_view query, Endpoint& endpoint) {
  bool seen = false;
  while (true) {
    const std::size_t end = query.find('&');
    const std::string_view item = query.substr(0, end);
    if (!item.starts_with("db=")) text.refuse("the only query key is db, as in ?db=1");
    if (std::exchange(seen, true)) text.refuse("db is given twice");
    endpoint.db = parse_db(text, item.substr(3));
    if (end == std::string_view::npos) return;
    query.remove_prefix(end + 1);
  }
}

void parse_unix(const Text& text, std::string_view rest, Endpoint& endpoint) {
  endpoint.kind = Endpoint::Kind::unix_socket;
  const std::size_t query = rest.find('?');
  if (query != std::string_view::npos) parse_query(text, rest.substr(query + 1), endpoint);
  rest = rest.substr(0, query);
  if (rest.empty()) text.refuse("there is no path; write unix:///path/to/redis.sock");
  const std::size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  if (authority.ends_with('@')) {
    endpoint.credentials = parse_userinfo(text, authority.substr(0, authority.size() - 1), "/PATH");
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

[[noreturn]] void refuse_scheme(const Text& text, std::string_view scheme) {
  for (const std::string_view known : {"redis+sentinel", "redis+cluster"}) {
    if (scheme != known) continue;
    text.refuse(std::string(known) +
                ":// is not supported by this version; give independent servers, each by its own "
                "redis://HOST:PORT");
  }
  text.refuse("unknown scheme; use redis://, rediss:// (TLS) or unix://");
}

std::string encode(std::string_view text, std::string_view also_plain) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       byte >= 0x80 || std::string_view("-._~").find(c) != std::string_view::npos ||
                       also_plain.find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

}  // namespace

std::string Endpoint::display() const {
  std::string shown = kind == Kind::unix_socket ? "unix://" : tls ? "rediss://" : "redis://";
  if (credentials.given()) {
    shown += encode(credentials.user, "");
    shown += credentials.password.empty() ? ":@" : ":***@";
  }
  if (kind == Kind::unix_socket) {
    shown += encode(path, "/:@+,=");
    if (db != 0) shown += "?db=" + std::to_string(db);
    return os::printable(shown);
  }
  // In brackets RFC 6874 wants the "%" of a zone encoded.
  shown += host.find(':') != std::string::npos ? '[' + encode(host, ":") + ']' : host;
  shown += ':' + std::to_string(port);
  if (db != 0) shown += '/' + std::to_string(db);
  return os::printable(shown);
}

Endpoint parse_uri(std::string_view uri) {
  const Text text{uri};
  if (uri.empty()) throw Error(ExitStatus::usage, "a server URI is empty");
  if (std::ranges::any_of(uri, [](char c) { return is_control_byte(c) || c == ' '; })) {
    text.refuse("spaces and control bytes are not allowed (a space is written %20)");
  }
  if (const std::size_t comma = uri.find(','); comma != std::string_view::npos) {
    const bool several =
        comma + 1 == uri.size() || uri.find("://", comma) != std::string_view::npos;
    if (several)
      text.refuse("separate several servers by blanks, not by commas; -S takes one server");
  }
  const std::size_t separator = uri.find("://");
  if (separator == std::string_view::npos) {
    text.refuse(uri.starts_with('/')
                    ? "is not a valid server URI; put unix:// before the path: unix:///PATH"
                    : "is not a valid server URI; put redis:// before the host: redis://HOST:PORT");
  }
  std::string scheme(uri.substr(0, separator));
  std::ranges::transform(scheme, scheme.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view rest = uri.substr(separator + 3);
  const bool tls = scheme == "rediss" || scheme == "valkeys";
  const bool tcp = tls || scheme == "redis" || scheme == "valkey";
  if (!tcp && scheme != "unix") refuse_scheme(text, scheme);
  if (rest.find('#') != std::string_view::npos) text.refuse("\"#\" is written %23");
  Endpoint endpoint;
  endpoint.tls = tls;
  if (tcp) {
    parse_tcp(text, rest, endpoint);
  } else {
    parse_unix(text, rest, endpoint);
  }
  return endpoint;
}

}  // namespace redlock::redis
