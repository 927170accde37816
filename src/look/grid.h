// SPDX-License-Identifier: MIT
//
// Tables that leave out columns if the terminal is too narrow.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diag/text.h"

namespace redlock::look {

struct Cell {
  std::string text;
  diag::Tint tint = diag::Tint::none;
};

/// The cells of a line, one per column. The headings are a line, too.
using Line = std::vector<Cell>;

/// The headings of a table.
Line heading(std::span<const std::string_view> words);

/// The blanks between two columns.
inline constexpr std::size_t kGap = 2;

/// A command cut to fewer columns is of no use.
inline constexpr std::size_t kLeastCommand = 12;

/// The width of each column, 0 if the table leaves it out. The last column is as wide as its widest
/// cell, and may be cut.
using Widths = std::vector<std::size_t>;

/// A column that may be narrower than its widest cell, and its least width.
struct Elastic {
  std::size_t column;
  std::size_t least;
};

/// Leaves out columns, in the order of `left_out`, until the lines fit into `width`, or until all
/// of these are left out.
Widths fit(const std::vector<Line>& lines, std::span<const std::size_t> left_out, Elastic elastic,
           std::size_t width);

/// The width of a line with these columns.
std::size_t sum(const Widths& widths);

/// The width of the widest cell.
std::size_t widest(const std::vector<Line>& lines, std::size_t column);

/// Replaces what the screen cannot show. Must come before fit().
void fit_charset(std::vector<Line>& lines, const diag::Screen& screen);

/// The text: one line of text per line, cut at the screen's width.
std::string lay_out(const std::vector<Line>& lines, const Widths& widths,
                    const diag::Screen& screen);

}  // namespace redlock::look
