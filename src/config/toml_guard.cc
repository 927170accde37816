// SPDX-License-Identifier: MIT
//
// One function for each rule of the grammar. Each returns false after a call of complain().
#include "config/toml_guard.h"

#include <algorithm>
#include <string>

#include "config/value.h"

namespace redlock::config {
namespace {

constexpr unsigned kDeepest = 16;
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kBare =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// A sign may stand only before the number or its exponent. Words such as true pass, too.
bool is_number_like(std::string_view word) {
  char before = 'e';
  for (const char c : word) {
    const bool sign = c == '+' || c == '-';
    if (c == ':' || (sign && before != 'e' && before != 'E')) return false;
    before = c;
  }
  return !word.empty();
}

/// No setting takes a date, but config/resolve.cc has the message for that.
bool is_date(std::string_view word) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00Z";
  const bool whole = word.size() == 10 || word.size() == 19 || word.size() == 20;
  return whole && std::ranges::equal(word, kShape.substr(0, word.size()), [](char c, char shape) {
           return shape == '0' ? is_digit(c) : c == shape;
         });
}

class Scan {
 public:
  explicit Scan(std::string_view text) : rest_(text) { take("\xef\xbb\xbf"); }

  std::optional<NotToml> run() {
    while (skip_lines(), !rest_.empty()) {
      if (!(at('[') ? heading() : pair(0)) || !end_of_line()) return complaint_;
    }
    return std::nullopt;
  }

 private:
  bool heading() {
    const bool twice = take("[[");
    if (!twice) take("[");
    skip(kBlanks);
    if (!key()) return false;
    return take(twice ? "]]" : "]") || complain("expected a ] after the key");
  }

  bool pair(unsigned depth) {
    if (!key()) return false;
    if (!take("=")) return complain("expected a = after the key");
    skip(kBlanks);
    return value(depth);
  }

  /// Takes the blanks after the key, too.
  bool key() {
    do {
      skip(kBlanks);
      if (at('"') || at('\'')) {
        if (rest_.starts_with("\"\"\"") || rest_.starts_with("'''") || !text()) {
          return complain("expected a key");
        }
      } else if (!skip(kBare)) {
        return complain(
            "expected a key; a key with other characters than A-Z, a-z, 0-9, - and _ needs quotes");
      }
      skip(kBlanks);
    } while (take("."));
    return true;
  }

  bool value(unsigned depth) {
    if (depth > kDeepest) return complain("brackets are nested too deeply");
    if (at('"') || at('\'')) return text();
    if (take("[")) return array(depth + 1);
    if (take("{")) return table(depth + 1);
    const std::string_view word =
        rest_.substr(0, rest_.find_first_not_of(std::string(kBare) + "+.:"));
    if (!is_number_like(word) && !is_date(word)) return complain("expected a value");
    drop(word.size());
    return true;
  }

  bool array(unsigned depth) {
    while (skip_lines(), !take("]")) {
      if (!value(depth)) return false;
      skip_lines();
      if (!take(",") && !at(']')) return complain("expected a , or ] after the value");
    }
    return true;
  }

  bool table(unsigned depth) {
    skip(kBlanks);
    if (take("}")) return true;
    do {
      if (!pair(depth)) return false;
      skip(kBlanks);
    } while (take(","));
    return take("}") || complain("expected a , or } after the value");
  }

  bool text() {
    const unsigned begin = line_;
    const char quote = rest_.front();
    const std::string end(rest_.starts_with(std::string(3, quote)) ? 3 : 1, quote);
    take(end);
    while (!rest_.empty() && (end.size() == 3 || !at('\n'))) {
      if (take(end)) {
        // Up to two quotes may stand before the three closing ones.
        for (int more = 0; end.size() == 3 && more < 2 && at(quote); ++more) drop(1);
        return true;
      }
      const bool escapes = quote == '"' && at('\\');
      if (escapes ? !escape(end.size() == 3) : !take(rest_.substr(0, 1))) return false;
    }
    line_ = begin;
    return complain("a text has no closing quote");
  }

  /// The characters that toml++ looks at must be ASCII; toml++ checks the other rules itself.
  bool escape(bool several_lines) {
    take("\\");
    if (several_lines && skip(" \t\r\n")) {  // toml++ compares what follows with all blanks
      return rest_.empty() || static_cast<unsigned char>(rest_.front()) < 0x80 ||
             complain(
                 "after a \\ at the end of a line, the text goes on with a character that is "
                 "not ASCII");
    }
    const std::size_t digits = at('u') ? 4 : at('U') ? 8 : 0;
    const std::string_view code = rest_.substr(0, digits + 1);
    const bool fits = code.size() == digits + 1 &&
                      code.find_first_not_of("0123456789abcdefABCDEF", 1) == code.npos &&
                      static_cast<unsigned char>(code.front()) < 0x80;
    if (!fits) return complain("a \\ in a text does not begin an escape");
    if (!at('\n')) drop(code.size());
    return true;
  }

  bool end_of_line() {
    skip(kBlanks);
    if (at('#')) drop(std::min(rest_.find('\n'), rest_.size()));
    take("\r");
    return rest_.empty() || take("\n") || complain("something follows the value or heading");
  }

  /// Skips blanks, ends of lines and comments.
  void skip_lines() {
    while (skip(" \t\r\n") || at('#')) {
      if (at('#')) drop(std::min(rest_.find('\n'), rest_.size()));
    }
  }

  [[nodiscard]] bool at(char c) const { return rest_.starts_with(c); }

  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    drop(token.size());
    return true;
  }

  /// False if the text does not begin with any of them.
  bool skip(std::string_view characters) {
    const std::size_t end = std::min(rest_.find_first_not_of(characters), rest_.size());
    drop(end);
    return end > 0;
  }

  void drop(std::size_t count) {
    line_ += static_cast<unsigned>(std::ranges::count(rest_.substr(0, count), '\n'));
    rest_.remove_prefix(count);
  }

  bool complain(std::string_view why) {
    if (!complaint_) complaint_ = NotToml{line_, why};
    return false;
  }

  std::string_view rest_;
  unsigned line_ = 1;
  std::optional<NotToml> complaint_;
};

}  // namespace

std::optional<NotToml> not_toml(std::string_view text) {
  return Scan(text).run();
}

}  // namespace redlock::config
