// SPDX-License-Identifier: MIT
//
// The configuration file is flat: KEY = VALUE, with TOML's syntax (https://toml.io/en/v1.0.0) for
// keys, strings, numbers, true, false, arrays of strings and comments. Nothing in it nests, so
// nothing here recurses.
#include <regex.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "config/table.h"
#include "config/value.h"
#include "error.h"
#include "os/printable.h"

namespace redlock::config {
namespace {

constexpr std::string_view kSpace = " \t";
constexpr std::string_view kBare =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

enum class Kind { string, array, boolean, whole, decimal, other };

struct Value {
  Kind kind;
  unsigned line;                     ///< where it begins
  std::string text;                  ///< of a string without its quotes, else as written
  std::vector<Value> elements = {};  ///< of an array; none of them is an array
};

bool matches(const std::string& word, const char* pattern) {
  regex_t compiled;
  if (::regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool found = ::regexec(&compiled, word.c_str(), 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return found;
}

/// What a value without quotes is.
Kind kind_of(const std::string& word) {
  constexpr const char* whole =
      "^([+-]?(0|[1-9](_?[0-9])*)"
      "|0x[0-9A-Fa-f](_?[0-9A-Fa-f])*|0o[0-7](_?[0-7])*|0b[01](_?[01])*)$";
  constexpr const char* decimal =
      "^[+-]?(0|[1-9](_?[0-9])*)(\\.[0-9](_?[0-9])*)?([Ee][+-]?[0-9](_?[0-9])*)?$";
  if (word == "true" || word == "false") return Kind::boolean;
  return matches(word, whole) ? Kind::whole : matches(word, decimal) ? Kind::decimal : Kind::other;
}

/// A number as parse_duration and the like read it: in base 10 without an exponent, and with no
/// more decimal places than it needs. std::to_chars() can do that, but needs libm, which nothing
/// else does: every start of redlock would load it.
std::string decimal(std::string word) {
  std::erase(word, '_');
  const int base = word.starts_with("0o") ? 8 : word.starts_with("0b") ? 2 : 10;
  const double number = base == 10 ? std::strtod(word.c_str(), nullptr)  // reads 0x, too
                                   : static_cast<double>(std::strtoull(&word[2], nullptr, base));
  constexpr int kMostPlaces = 340;
  std::array<char, 700> text{};
  for (int places = 0; places <= kMostPlaces; ++places) {
    std::snprintf(text.data(), text.size(), "%.*f", places, number + 0.0);  // no "-0"
    if (std::strtod(text.data(), nullptr) == number) break;
  }
  return text.data();
}

/// Empty if there is no such character.
std::string utf8(unsigned long code) {
  const unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const unsigned first = more == 0 ? 0 : 0xff00U >> (more + 1);
  std::string bytes(1, static_cast<char>(first | code >> 6 * more));
  for (unsigned left = more; left-- > 0;) {
    bytes += static_cast<char>(0x80U | (code >> 6 * left & 0x3fU));
  }
  return os::code_of(bytes) == code ? bytes : "";
}

/// Takes a text apart from its beginning to its end. Throws Error (78) with file, line and key.
class Scan {
 public:
  Scan(std::string_view text, const std::string& file) : rest_(text), file_(file) {
    check_characters();
    take("\xef\xbb\xbf");
  }

  /// Skips what stands between a value and the next key. False: the file ends here.
  bool next() {
    key_.clear();
    skip_lines();
    return !rest_.empty();
  }

  /// Takes the = after the key, too.
  std::string key() {
    if (at('[')) reject("there are no [tables] in this file; remove this line");
    std::string name(at('"') || at('\'') ? string(1) : skip(kBare));
    skip(kSpace);
    if (at('.')) reject("a key has no dots, as there are no [tables] in this file");
    if (name.empty() || !take("=")) reject("expected KEY = VALUE (a comment begins with #)");
    skip(kSpace);
    return name;
  }

  Value value(const std::string& key) {
    key_ = key;
    if (!at('[')) return element();
    Value array{Kind::array, line_, ""};
    take("[");
    while (skip_lines(), !take("]")) {
      if (rest_.empty()) reject(array.line, "an array has no closing ]");
      array.elements.push_back(element());
      skip_lines();
      if (!take(",") && !at(']') && !rest_.empty()) reject("expected a , or ] after each string");
    }
    return array;
  }

  void end_of_line() {
    skip(kSpace);
    if (rest_.empty() || at('#') || at('\n') || at('\r')) return;
    reject("unexpected text after the value (a comment begins with #; a quote in \"...\" is \\\")");
  }

  [[noreturn]] void reject(unsigned line, const std::string& why) const {
    throw Error(ExitStatus::config, file_ + ":" + std::to_string(line) + ": " +
                                        (key_.empty() ? "" : key_ + ": ") + why);
  }
  [[noreturn]] void reject(const std::string& why) const { reject(line_, why); }

 private:
  void check_characters() {
    const std::string_view all = rest_;
    while (!rest_.empty()) {
      const std::string_view character = rest_.substr(0, os::length_of_first(rest_));
      const bool control =
          os::is_control(character.front()) && !at('\t') && !at('\n') && !rest_.starts_with("\r\n");
      if (control || os::code_of(character) == 0) {
        reject("expected text in UTF-8 without control characters");
      }
      drop(character.size());
    }
    rest_ = all;
    line_ = 1;
  }

  Value element() {
    const unsigned line = line_;
    if (rest_.starts_with("\"\"\"") || rest_.starts_with("'''")) {
      return {Kind::string, line, string(3)};
    }
    if (at('"') || at('\'')) return {Kind::string, line, string(1)};
    const std::string word(rest_.substr(0, rest_.find_first_of(" \t\r\n,]#")));
    if (word.empty()) reject("expected a value");
    drop(word.size());
    return {kind_of(word), line, word};
  }

  /// With three quotes, a string may have several lines.
  std::string string(std::size_t quotes) {
    const unsigned begin = line_;
    const char quote = rest_.front();
    const std::string end(quotes, quote);
    const bool several_lines = quotes > 1;
    take(end);
    if (several_lines && !take("\r\n")) take("\n");
    std::string text;
    while (!rest_.empty() && (several_lines || !at('\n'))) {
      if (take(end)) {
        // Up to two quotes may stand before the three closing ones.
        for (int more = 0; several_lines && more < 2 && take({&quote, 1}); ++more) text += quote;
        return text;
      }
      if (quote == '"' && take("\\")) {
        text += escape(several_lines);
      } else if (!take("\r")) {  // each line ends with \n
        text += rest_.front();
        drop(1);
      }
    }
    reject(begin, "a string has no closing quote");
  }

  std::string escape(bool several_lines) {
    constexpr std::string_view names = "btnfr\"\\";
    constexpr std::string_view meanings = "\b\t\n\f\r\"\\";
    const std::size_t blanks = std::min(rest_.find_first_not_of(" \t\r"), rest_.size());
    if (several_lines && rest_.substr(blanks).starts_with('\n')) {
      skip(" \t\r\n");
      return "";
    }
    const char name = rest_.empty() ? '\0' : rest_.front();
    if (const std::size_t index = names.find(name); index != names.npos) {
      drop(1);
      return {meanings[index]};
    }
    const std::size_t length = name == 'u' ? 4 : name == 'U' ? 8 : 0;
    const std::string digits(rest_.substr(std::min<std::size_t>(1, rest_.size()), length));
    const bool number = digits.size() == length && matches(digits, "^[0-9A-Fa-f]+$");
    std::string character = number ? utf8(std::strtoul(digits.c_str(), nullptr, 16)) : "";
    if (character.empty()) {
      reject("no escape begins with this \\; write \\\\, or put the string in single quotes");
    }
    drop(1 + length);
    return character;
  }

  /// Skips blanks, ends of lines and comments.
  void skip_lines() {
    while (!skip(" \t\r\n").empty() || at('#')) {
      if (at('#')) drop(std::min(rest_.find('\n'), rest_.size()));
    }
  }

  [[nodiscard]] bool at(char c) const { return rest_.starts_with(c); }

  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    drop(token.size());
    return true;
  }

  /// Returns what it skips.
  std::string_view skip(std::string_view characters) {
    const std::string_view skipped = rest_.substr(0, rest_.find_first_not_of(characters));
    drop(skipped.size());
    return skipped;
  }

  void drop(std::size_t count) {
    line_ += static_cast<unsigned>(std::ranges::count(rest_.substr(0, count), '\n'));
    rest_.remove_prefix(count);
  }

  std::string_view rest_;
  const std::string& file_;
  std::string key_;  ///< whose value is read; empty: none
  unsigned line_ = 1;
};

const Row& row_of(std::string_view key, const Scan& scan) {
  const auto row = std::ranges::find(table(), key, file_key);
  if (row != table().end()) return *row;
  std::vector<std::string> keys;
  for (const Row& each : table()) keys.push_back(file_key(each));
  const std::string meant = nearest(key, keys);
  scan.reject("unknown key " + quote(key) + (meant.empty() ? "" : ", did you mean " + meant + "?") +
              " (see redlock.toml(5))");
}

void expect(std::initializer_list<Kind> kinds, const char* what, const Value& value,
            const Scan& scan) {
  if (std::ranges::count(kinds, value.kind) > 0) return;
  scan.reject(value.line, std::string("expected ") + what);
}

void store_list(const Value& value, const Row& row, Draft& draft, const Scan& scan) {
  constexpr const char* expected = "an array of strings, such as [\"redis://db1\"]";
  expect({Kind::array}, expected, value, scan);
  if (value.elements.empty()) scan.reject(value.line, "expected at least one");
  for (const Value& element : value.elements) {
    expect({Kind::string}, expected, element, scan);
    // Blanks separate the servers of a list in the environment, but not in the file.
    if (element.text.find_first_of(kBlanks) != std::string::npos) {
      scan.reject(element.line, "expected one URI in each string");
    }
    store(row, draft, element.text, {Origin::file, element.line});
  }
  draft.given[row.name].line = value.line;
}

void store_value(const Value& value, const Row& row, Draft& draft, const Scan& scan) {
  switch (row.type) {
    case Type::uri_list:
      return store_list(value, row, draft, scan);
    case Type::toggle:
      expect({Kind::boolean}, "true or false, without quotes", value, scan);
      break;
    case Type::duration:
      expect({Kind::string, Kind::whole, Kind::decimal},
             "a time such as \"30s\", or a number of seconds", value, scan);
      break;
    case Type::integer:
      expect({Kind::whole}, "a whole number, without quotes", value, scan);
      break;
    default:
      expect({Kind::string}, "a string in quotes", value, scan);
  }
  const bool number = value.kind == Kind::whole || value.kind == Kind::decimal;
  store(row, draft, number ? decimal(value.text) : value.text, {Origin::file, value.line});
}

}  // namespace

Content read_toml(std::string_view text, Draft& draft) {
  bool secret = false;
  std::map<std::string, unsigned> lines;
  for (Scan scan(text, draft.config_file); scan.next(); scan.end_of_line()) {
    const std::string key = scan.key();
    const Row& row = row_of(key, scan);
    const Value value = scan.value(key);
    const auto [first, fresh] = lines.emplace(key, value.line);
    if (!fresh) {
      scan.reject("line " + std::to_string(first->second) + " sets it, too; remove one of the two");
    }
    secret = secret || (row.type == Type::secret && !value.text.empty());
    if (draft.origin(row.name) == Origin::built_in) store_value(value, row, draft, scan);
  }
  const bool in_uri =
      draft.origin(key::server) == Origin::file &&
      std::ranges::any_of(draft.settings.servers, [](const redis::Endpoint& server) {
        return !server.credentials.password.empty() ||
               !server.sentinel_credentials.password.empty();
      });
  return secret || in_uri ? Content::secret : Content::settings;
}

}  // namespace redlock::config
