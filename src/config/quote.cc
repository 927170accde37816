// SPDX-License-Identifier: MIT
#include "config/quote.h"

#include "os/printable.h"

namespace redlock::config {
namespace {

constexpr std::size_t kLongestShown = 80;

/// Only the parser knows where a URI has its password, and it may have refused this text.
std::string without_uri(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, scheme + 3)) + "***";
}

std::string escaped(std::string_view character) {
  constexpr std::string_view hex = "0123456789abcdef";
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  if (os::is_printable(character)) return std::string(character);
  std::string out;
  for (const char c : character) {
    const auto byte = static_cast<unsigned char>(c);
    out.append("\\x").append({hex[byte >> 4U], hex[byte & 15U]});
  }
  return out;
}

/// Does not cut a UTF-8 character in two: half a character would garble the terminal.
std::size_t cut_at(std::string_view text) {
  std::size_t end = kLongestShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return end;
}

}  // namespace

std::string quote(std::string_view text) {
  std::string shown = without_uri(text);
  std::string_view rest;
  if (shown.size() > kLongestShown) {
    shown.resize(cut_at(shown));
    rest = "...";
  }
  std::string out = "'";
  for (std::string_view left = shown; !left.empty();) {
    const std::string_view character = left.substr(0, os::length_of_first(left));
    out += escaped(character);
    left.remove_prefix(character.size());
  }
  return out.append(rest).append("'");
}

}  // namespace redlock::config
