// SPDX-License-Identifier: MIT
#include "inspect/grid.h"

#include <algorithm>

#include "diag/text.h"

namespace redlock::inspect {

std::size_t sum(const Widths& widths) {
  std::size_t total = 0;
  for (const std::size_t width : widths) {
    if (width > 0) total += width + (total == 0 ? 0 : kGap);
  }
  return total;
}

Widths fit(const std::vector<Line>& lines, std::span<const std::size_t> left_out, Elastic elastic,
           std::size_t width) {
  Widths widths(lines.front().size());
  for (const Line& line : lines) {
    for (std::size_t column = 0; column < widths.size(); ++column) {
      widths[column] = std::max(widths[column], diag::columns(line[column]));
    }
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

std::string lay_out(const std::vector<Line>& lines, const Widths& widths, std::size_t width) {
  std::string out;
  for (const Line& line : lines) {
    std::string row;
    std::size_t used = 0;  // columns, of the text so far
    std::size_t end = 0;   // of the column before, with its blanks
    for (std::size_t column = 0; column < widths.size(); ++column) {
      if (widths[column] == 0) continue;
      row.append(end - used, ' ').append(line[column]);
      used = end + diag::columns(line[column]);
      end += widths[column] + kGap;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += diag::cut(row, width) + "\n";
  }
  return out;
}

}  // namespace redlock::inspect
