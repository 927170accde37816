// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::config {

/// Finds what somebody probably meant by a mistyped word: "did you mean". Far-fetched candidates
/// are none, and an abbreviation (not accepted anywhere, but understood) is as near as can be.
class Nearest {
 public:
  explicit Nearest(std::string_view word) : word_(word) {}

  void offer(std::string_view candidate);

  /// The nearest of those offered, or nothing.
  [[nodiscard]] const std::string& best() const { return best_; }

 private:
  std::string_view word_;
  std::string best_;
  std::size_t distance_ = 3;  ///< of the best one; from here on nothing is near
};

}  // namespace redlock::config
