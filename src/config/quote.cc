// SPDX-License-Identifier: MIT
#include "config/quote.h"

namespace redlock::config {
namespace {

constexpr std::size_t kLongestShown = 80;

std::string without_credentials(std::string_view text) {
  const std::size_t scheme = text.find("://");
  const std::size_t at = text.rfind('@');
  if (scheme == std::string_view::npos || at == std::string_view::npos || at < scheme) {
    return std::string(text);
  }
  return std::string(text.substr(0, scheme + 3)) + "***" + std::string(text.substr(at));
}

std::string escaped(char character) {
  constexpr std::string_view hex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(character);
  if (character == '\n') return "\\n";
  if (character == '\t') return "\\t";
  if (byte >= 0x20 && byte != 0x7f) return {character};
  return {'\\', 'x', hex[byte >> 4U], hex[byte & 15U]};
}

/// A UTF-8 character cut in two would spoil the terminal.
std::size_t cut_at(std::string_view text) {
  std::size_t end = kLongestShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return end;
}

}  // namespace

std::string quote(std::string_view text) {
  std::string shown = without_credentials(text);
  std::string_view rest;
  if (shown.size() > kLongestShown) {
    shown.resize(cut_at(shown));
    rest = "...";
  }
  std::string out = "'";
  for (const char character : shown) out += escaped(character);
  return out.append(rest).append("'");
}

}  // namespace redlock::config
