// SPDX-License-Identifier: MIT
//
// What this room draws on a screen: tables that leave out columns if it is too narrow, and with
// --watch the same output again and again, in place.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "cli/command_line.h"
#include "diag/text.h"
#include "error.h"

namespace redlock::look {

struct Cell {
  std::string text;
  diag::Tint tint = diag::Tint::none;
};

/// The cells of a line, one per column. The headings are a line, too.
using Line = std::vector<Cell>;

Line heading(std::span<const std::string_view> words);

inline constexpr std::size_t kGap = 2;            ///< blanks between two columns
inline constexpr std::size_t kLeastCommand = 12;  ///< a command cut to fewer columns is of no use

/// The width of each column, 0 if the table leaves it out. The last column is as wide as its widest
/// cell, and may be cut.
using Widths = std::vector<std::size_t>;

/// Leaves out columns, in the order of `left_out`, until the lines fit into `width`, or until all
/// of these are left out. The last column, that of the commands, may be cut to kLeastCommand.
Widths fit(const std::vector<Line>& lines, std::span<const std::size_t> left_out,
           std::size_t width);

std::size_t sum(const Widths& widths);  ///< of a line with these columns
std::size_t widest(const std::vector<Line>& lines, std::size_t column);

/// Cuts the cells of a column to `most` columns of the screen.
void cut_cells(std::vector<Line>& lines, std::size_t column, std::size_t most,
               diag::Charset charset);

/// Replaces what the screen cannot show. Must come before fit().
void fit_charset(std::vector<Line>& lines, const diag::Screen& screen);

/// The text: one line of text per line, cut at the screen's width.
std::string lay_out(const std::vector<Line>& lines, const Widths& widths,
                    const diag::Screen& screen);

/// The output of one look at the servers.
struct Frame {
  std::string text = {};
  std::vector<std::string> complaints = {};  ///< for standard error, or below the text
  ExitStatus status = ExitStatus::ok;
};

using Look = std::function<Frame(const diag::Screen&)>;

/// Prints one look. With --watch, draws a look on the terminal again after each interval, until a
/// signal or the key q ends it: status 0 for q and Ctrl-C, as watch(1). Throws Error (64 without
/// such a terminal, and what `look` throws).
Exit show(const cli::Request& request, const std::vector<std::string>& typed, const Look& look);

}  // namespace redlock::look
