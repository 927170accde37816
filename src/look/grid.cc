// SPDX-License-Identifier: MIT
#include "look/grid.h"

#include <algorithm>
#include <utility>

#include "diag/text.h"

namespace redlock::look {

std::size_t sum(const Widths& widths) {
  std::size_t total = 0;
  for (const std::size_t width : widths) {
    if (width > 0) total += width + (total == 0 ? 0 : kGap);
  }
  return total;
}

Line heading(std::span<const std::string_view> words) {
  Line line;
  for (const std::string_view word : words) {
    line.push_back({std::string(word), diag::Tint::faint});
  }
  return line;
}

std::size_t widest(const std::vector<Line>& lines, std::size_t column) {
  std::size_t most = 0;
  for (const Line& line : lines) most = std::max(most, diag::columns(line[column].text));
  return most;
}

void fit_charset(std::vector<Line>& lines, const diag::Screen& screen) {
  for (Line& line : lines) {
    for (Cell& cell : line) cell.text = diag::for_screen(std::move(cell.text), screen);
  }
}

Widths fit(const std::vector<Line>& lines, std::span<const std::size_t> left_out, Elastic elastic,
           std::size_t width) {
  Widths widths(lines.front().size());
  for (std::size_t column = 0; column < widths.size(); ++column) {
    widths[column] = widest(lines, column);
  }
  if (width == diag::kNoLimit) return widths;
  Widths needed = widths;
  needed[elastic.column] = std::min(needed[elastic.column], elastic.least);
  for (const std::size_t column : left_out) {
    if (sum(needed) <= width) break;
    needed[column] = widths[column] = 0;
  }
  return widths;
}

std::string lay_out(const std::vector<Line>& lines, const Widths& widths,
                    const diag::Screen& screen) {
  std::string out;
  for (const Line& line : lines) {
    std::string row;
    std::size_t used = 0;  // columns, of the text so far
    std::size_t end = 0;   // of the column before, with its blanks
    for (std::size_t column = 0; column < widths.size() && end < screen.width; ++column) {
      if (widths[column] == 0) continue;
      std::string text = diag::cut(line[column].text, screen.width - end, screen.charset);
      text.erase(text.find_last_not_of(' ') + 1);
      if (!text.empty()) {
        row.append(end - used, ' ');
        used = end + diag::columns(text);
        row += diag::paint(std::move(text), line[column].tint, screen);
      }
      end += widths[column] + kGap;
    }
    out += row + "\n";
  }
  return out;
}

}  // namespace redlock::look
