// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "cli/help.h"
#include "diag/text.h"

namespace redlock::cli {

namespace {

constexpr std::size_t kSetIn = 6;  ///< what has no room beside an option stands below it

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// Where the words of a line begin: after an option, a command or a status, if there is one.
std::size_t column_of(std::string_view line) {
  const std::size_t left = line.find_first_not_of(' ');
  const std::size_t gap = left == 2 ? line.find("  ", left) : line.npos;
  return gap == line.npos ? left : line.find_first_not_of(' ', gap);
}

/// Breaks `words` into lines, with `label` to the left of the first line, or above if the lines
/// would be short, or too short for a word.
std::string broken(std::string label, std::size_t column, std::string_view words,
                   std::size_t width) {
  std::string out;
  std::size_t indent = column;
  std::size_t longest = 0;
  for (const std::string& word : diag::wrap(words, 1)) longest = std::max(longest, word.size());
  if (column > kSetIn + 1 && (column > width / 2 || column + longest > width)) {
    if (const std::size_t end = label.find_last_not_of(' '); end != label.npos) {
      out = label.substr(0, end + 1) + "\n";
    }
    label.assign(indent = kSetIn, ' ');
  } else if (column == 2) {
    indent = kSetIn;
  }
  for (const std::string& line : diag::wrap(words, width - indent)) {
    out += std::exchange(label, std::string(indent, ' ')) + line + "\n";
  }
  return out;
}

}  // namespace

std::string fitted(std::string_view help, std::size_t width) {
  std::string out;
  bool example = false;
  while (!help.empty()) {
    const std::string_view line = take_line(help);
    example = line.starts_with("Example") || (example && line.starts_with(' '));
    if (example || line.empty()) {
      out.append(line).append("\n");
      continue;
    }
    const std::size_t column = column_of(line);
    std::string words(line.substr(column));
    // A command's form is a line of its own; so is a line at the left of a section.
    bool goes_on = column != 2 && line.find("[OPTIONS]") == line.npos;
    while (goes_on && help.find_first_not_of(' ') == column && help[column] != '\n') {
      words.append(" ").append(take_line(help).substr(column));
    }
    out += broken(std::string(line.substr(0, column)), column, words, width);
  }
  return out;
}

}  // namespace redlock::cli
