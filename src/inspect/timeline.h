// SPDX-License-Identifier: MIT
//
// When the lock was held, drawn: a column of bars beside the rows of a table, each in its place in
// the time that the table is about.
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

  /// Both ends in local time, or blanks if there is no room for them.
  [[nodiscard]] std::string head() const;

  /// From one time to another, both included; however short, something is seen of it.
  [[nodiscard]] std::string bar(std::chrono::milliseconds from, std::chrono::milliseconds to) const;

  /// One character at its place: of what has no length, or none that is known.
  [[nodiscard]] std::string mark(std::chrono::milliseconds at, char character) const;

 private:
  [[nodiscard]] std::size_t half_cell(std::chrono::milliseconds time) const;

  std::chrono::milliseconds begin_;
  std::chrono::milliseconds length_;
  std::size_t width_;
  diag::Charset charset_;
};
}  // namespace redlock::inspect
