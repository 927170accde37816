// SPDX-License-Identifier: MIT
#include "config/quote.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

constexpr std::size_t kLongestWord = 40;

/// Levenshtein's edit distance, where two swapped neighbours also count as one mistake.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before;  // the last row but one
  std::vector<std::size_t> last(other.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::vector<std::size_t> row(last.size(), i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = last[j] + (one[i] == other[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, row[j] + 1, last[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && one[i] == other[j - 1] && one[i - 1] == other[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before = std::move(last);
    last = std::move(row);
  }
  return last.back();
}

}  // namespace

std::string quote(std::string_view text) {
  std::string shown = without_uri(text);
  std::string_view rest;
  if (shown.size() > kLongestShown) {
    shown.resize(os::clip(shown, kLongestShown).size());
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

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t limit = 3;  // the next one must be nearer than that
  if (word.size() > kLongestWord) return best;
  for (const std::string& candidate : candidates) {
    const bool abbreviated = word.size() > 1 && candidate.starts_with(word);
    const std::size_t measured = abbreviated ? 0 : distance(word, candidate);
    if (measured >= limit || measured * 2 >= std::max(word.size(), candidate.size())) continue;
    best = candidate;
    limit = measured;
  }
  return best;
}

}  // namespace redlock::config
