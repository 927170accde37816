// SPDX-License-Identifier: MIT
#include "cli/suggest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace redlock::cli {
namespace {

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

/// The best candidate so far; a far-fetched one is none.
struct Best {
  std::string candidate;
  std::size_t distance;

  void offer(std::string_view word, std::string_view other, std::size_t measured) {
    if (measured >= distance || measured * 2 >= std::max(word.size(), other.size())) return;
    candidate = other;
    distance = measured;
  }
};
constexpr std::size_t kTooFar = 3;
constexpr std::size_t kLongestWord = 40;

}  // namespace

std::string_view command_name(config::Command command) {
  return command == config::kSandbox ? "sandbox" : "run";
}

std::string nearest_command(std::string_view word) {
  if (word.size() > kLongestWord) return {};
  Best best{{}, kTooFar};
  for (const std::string_view name : {"run", "sandbox", "help"}) {
    best.offer(word, name, distance(word, name));
  }
  return best.candidate;
}

std::string nearest_flag(config::Command command, std::string_view flag) {
  if (!flag.starts_with("--") || flag.size() > kLongestWord) return {};
  flag.remove_prefix(2);
  Best best{{}, kTooFar};
  for (const config::Row& row : config::table()) {
    if ((row.commands & command) == 0 || row.group.empty()) continue;
    for (std::string_view flags = row.flags; !flags.empty();) {
      const std::size_t comma = std::min(flags.find(','), flags.size());
      std::string_view other = flags.substr(0, comma);
      flags.remove_prefix(std::min(comma + 1, flags.size()));
      if (!other.starts_with("--")) continue;
      other.remove_prefix(2);
      const bool abbreviated = flag.size() > 1 && other.starts_with(flag);
      best.offer(flag, other, abbreviated ? 0 : distance(flag, other));
    }
  }
  return best.candidate.empty() ? std::string{} : "--" + best.candidate;
}

}  // namespace redlock::cli
