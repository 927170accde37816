// SPDX-License-Identifier: MIT
#include "config/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace redlock::config {
namespace {

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

void Nearest::offer(std::string_view candidate) {
  if (word_.size() > kLongestWord) return;
  const bool abbreviated = word_.size() > 1 && candidate.starts_with(word_);
  const std::size_t measured = abbreviated ? 0 : distance(word_, candidate);
  if (measured >= distance_ || measured * 2 >= std::max(word_.size(), candidate.size())) return;
  best_ = candidate;
  distance_ = measured;
}

}  // namespace redlock::config
