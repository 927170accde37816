// SPDX-License-Identifier: MIT
//
// Draws when the lock was held: a column of bars beside the rows of a table. The width of the
// column stands for the time from the table's first run to its last.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "diag/text.h"

namespace redlock::inspect {

class Timeline {
 public:
  /// From `begin` to `end` (Unix time), in `width` columns, at least 1.
  Timeline(std::chrono::milliseconds begin, std::chrono::milliseconds end, std::size_t width,
           diag::Charset charset);

  /// The heading: both ends in local time, or blanks if they do not fit.
  [[nodiscard]] std::string head() const;

  /// A bar from one time to another, both included. Even the shortest is visible.
  [[nodiscard]] std::string bar(std::chrono::milliseconds from, std::chrono::milliseconds to) const;

  /// One character at its place, for a run without a known length.
  [[nodiscard]] std::string mark(std::chrono::milliseconds at, char character) const;

 private:
  [[nodiscard]] std::size_t half_cell(std::chrono::milliseconds time) const;

  std::chrono::milliseconds begin_;
  std::chrono::milliseconds length_;
  std::size_t width_;
  diag::Charset charset_;
};
}  // namespace redlock::inspect
