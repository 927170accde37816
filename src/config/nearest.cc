// SPDX-License-Identifier: MIT
#include "config/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace redlock::config {
namespace {

constexpr std::size_t kLongestWord = 40;

/// Levenshtein's edit distance.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

void Nearest::offer(std::string_view candidate) {
  if (word_.size() > kLongestWord) return;
  const bool abbreviated = word_.size() > 1 && candidate.starts_with(word_);
  const std::size_t measured = abbreviated ? 0 : distance(word_, candidate);
  if (measured >= distance_ || measured * 2 >= std::max(word_.size(), candidate.size())) return;
  best_ = candidate;
  distance_ = measured;
}

}  // namespace redlock::config
