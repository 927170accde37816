// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::config {

/// Finds the word that the user probably meant by a mistyped one: "did you mean". It ignores
/// candidates that are too different. An abbreviation, which redlock never accepts, is the nearest.
class Nearest {
 public:
  explicit Nearest(std::string_view word) : word_(word) {}

  void offer(std::string_view candidate);

  /// The nearest candidate, or nothing.
  [[nodiscard]] const std::string& best() const { return best_; }

 private:
  std::string_view word_;
  std::string best_;
  std::size_t distance_ = 3;  ///< of best_; a candidate must be nearer than that
};

}  // namespace redlock::config
