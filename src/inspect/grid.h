// SPDX-License-Identifier: MIT
//
// Tables that leave out columns where the terminal has no room for them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace redlock::inspect {

/// The cells of a line, one for each column; the heads are a line, too.
using Line = std::vector<std::string>;

/// The blanks between two columns.
inline constexpr std::size_t kGap = 2;

/// How wide a column is, 0 if it is left out. The last of all is as wide as it needs to be, and may
/// be cut.
using Widths = std::vector<std::size_t>;

/// What a column needs at the least, if that is less than its widest cell.
struct Elastic {
  std::size_t column;
  std::size_t least;
};

/// Leaves out columns, in the order of `left_out`, until the lines fit into `width`, or all of
/// these are gone.
Widths fit(const std::vector<Line>& lines, std::span<const std::size_t> left_out, Elastic elastic,
           std::size_t width);

/// What lines of these widths take.
std::size_t sum(const Widths& widths);

/// One line of text for each, cut at `width`.
std::string lay_out(const std::vector<Line>& lines, const Widths& widths, std::size_t width);

}  // namespace redlock::inspect
