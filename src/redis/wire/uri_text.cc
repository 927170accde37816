// SPDX-License-Identifier: MIT
#include "redis/wire/uri_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

#include "error.h"
#include "os/printable.h"

namespace redlock::redis {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_scheme(std::string_view text) {
  constexpr std::size_t kLongest = 20;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
    return is_letter_or_digit(c) || c == '+' || c == '-' || c == '.';
  });
}

/// Removes the characters up to the first one for which `is` is false, and returns their number.
template <class Is>
std::size_t skip(std::string_view& text, Is is) {
  std::size_t length = 0;
  while (length < text.size() && is(text[length])) ++length;
  text.remove_prefix(length);
  return length;
}

/// "db1", "db1:6379", "db1,db2:6379", each with or without a database: "/2". More digits than a
/// port has may be a password.
bool is_place(std::string_view text) {
  constexpr std::size_t kLongestPort = 5;
  const auto in_host = [](char c) {
    return is_letter_or_digit(c) || std::string_view(".-_").find(c) != std::string_view::npos;
  };
  while (skip(text, in_host) > 0) {
    if (text.starts_with(':')) {
      text.remove_prefix(1);
      if (skip(text, is_digit) > kLongestPort) return false;
    }
    if (text.starts_with(',')) {
      text.remove_prefix(1);
      continue;
    }
    if (text.starts_with('/')) {
      text.remove_prefix(1);
      skip(text, is_digit);
    }
    return text.empty();
  }
  return false;
}

bool is_path(std::string_view text) {
  return text.starts_with('/') && std::ranges::all_of(text, [](char c) {
           return is_letter_or_digit(c) ||
                  std::string_view("/.-_").find(c) != std::string_view::npos;
         });
}

/// As much of a URI that we refuse as may be shown. The whole URI only if it has the form of a
/// place alone; otherwise we do not know where its password is, and show the scheme: "redis://***".
/// Empty if there is no scheme: the word may itself be a password, or a part of one with blanks.
std::string redact(std::string_view uri) {
  constexpr std::size_t kLongestShown = 100;
  const std::size_t end = uri.find("://");
  if (end == std::string_view::npos || !is_scheme(uri.substr(0, end))) return {};
  const std::string scheme(uri.substr(0, end + 3));
  const std::string_view rest = uri.substr(scheme.size());
  const bool place = scheme == "unix://" ? is_path(rest) : is_place(rest);
  return place && uri.size() <= kLongestShown ? std::string(uri) : scheme + "***";
}

void check_ipv6(const UriText& text, std::string_view host) {
  // inet_pton does not know zones ("fe80::1%eth0"); connecting finds out whether the zone exists.
  const std::string address(host.substr(0, host.find('%')));
  in6_addr parsed{};
  if (inet_pton(AF_INET6, address.c_str(), &parsed) != 1) {
    text.refuse("the text in brackets is not an IPv6 address");
  }
}

void check_host(const UriText& text, std::string_view host) {
  if (host.empty()) text.refuse("there is no host");
  const bool plain = std::ranges::all_of(
      host, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_'; });
  if (!plain) text.refuse("a host may hold letters, digits, \".\", \"-\" and \"_\" only");
  if (host.size() > 253) text.refuse("the host is longer than 253 bytes");
}

std::uint16_t port_of(const UriText& text, std::string_view digits) {
  unsigned port = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, port);
  if (digits.empty() || error != std::errc() || stop != end || port < 1 || port > 65535) {
    text.refuse("the port must be a number from 1 to 65535");
  }
  return static_cast<std::uint16_t>(port);
}

}  // namespace

bool is_control_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
    return is_letter_or_digit(c) || std::string_view(".-_:%").find(c) != std::string_view::npos;
  });
}

std::string percent_encoded(std::string_view text, std::string_view also_plain) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = is_letter_or_digit(c) || byte >= 0x80 ||
                       std::string_view("-._~").find(c) != std::string_view::npos ||
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

std::string Address::display() const {
  // In brackets RFC 6874 wants the "%" of a zone encoded.
  std::string shown =
      host.find(':') != std::string::npos ? '[' + percent_encoded(host, ":") + ']' : host;
  return os::printable(shown.append(":").append(std::to_string(port)));
}

void UriText::refuse(std::string_view why) const {
  std::string message = redact(whole);
  if (!message.empty()) message = '"' + message + "\": ";
  throw Error(ExitStatus::usage, message.append(why));
}

void UriText::check_bytes() const {
  if (std::ranges::any_of(whole, [](char c) { return is_control_byte(c) || c == ' '; })) {
    refuse("spaces and control bytes are not allowed (a space is written %20)");
  }
}

std::string UriText::decode(std::string_view part) const {
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

int UriText::database(std::string_view digits) const {
  int db = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, db);
  if (digits.empty() || !is_digit(digits.front()) || error != std::errc() || stop != end) {
    refuse("the database must be a number from 0 to 2147483647");
  }
  return db;
}

Credentials UriText::user_and_password(std::string_view part, std::string_view place) const {
  const std::size_t colon = part.find(':');
  if (part.empty() || part == ":") {
    refuse("there is an \"@\" but no user and no password before it");
  }
  if (colon == std::string_view::npos) {
    const std::string scheme(whole.substr(0, whole.find("://") + 3));
    const std::string at = "@" + std::string(place);
    refuse("is the word before \"@\" a password or a user? Write " + scheme + ":PASSWORD" + at +
           " or " + scheme + "USER:PASSWORD" + at +
           " (USER: alone if the password comes from --password-file)");
  }
  if (part.find('@') != std::string_view::npos) {
    refuse("in a user or password, \"@\" is written %40");
  }
  return {decode(part.substr(0, colon)), decode(part.substr(colon + 1))};
}

Address UriText::address(std::string_view part, std::uint16_t default_port) const {
  Address address{.host = {}, .port = default_port};
  std::string_view port;
  bool has_port = false;
  if (part.starts_with('[')) {
    const std::size_t close = part.find(']');
    if (close == std::string_view::npos) refuse("\"[\" without \"]\"");
    address.host = decode(part.substr(1, close - 1));
    check_ipv6(*this, address.host);
    const std::string_view rest = part.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') refuse("only :port may follow \"]\"");
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else {
    if (std::ranges::count(part, ':') > 1) {
      refuse("an IPv6 address must be in brackets, as in redis://[::1]:6379");
    }
    const std::size_t colon = part.find(':');
    address.host = part.substr(0, colon);
    check_host(*this, address.host);
    has_port = colon != std::string_view::npos;
    if (has_port) port = part.substr(colon + 1);
  }
  if (has_port) address.port = port_of(*this, port);
  return address;
}

}  // namespace redlock::redis
