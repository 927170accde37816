// SPDX-License-Identifier: MIT
//
// The only file that includes toml++, which takes seconds to compile.
#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "config/table.h"
#include "config/value.h"
#include "error.h"

namespace redlock::config {
namespace {

constexpr unsigned kDeepest = 16;
constexpr std::string_view kSpace = " \t";
constexpr std::string_view kBare =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// Accepts a sign only before the number or its exponent. Accepts words such as true, too.
bool is_number_like(std::string_view word) {
  char before = 'e';
  for (const char c : word) {
    const bool sign = c == '+' || c == '-';
    if (c == ':' || (sign && before != 'e' && before != 'E')) return false;
    before = c;
  }
  return !word.empty();
}

/// No setting takes a date, but store_value() has a better message for that.
bool is_date(std::string_view word) {
  return has_shape(word, "0000-00-00") || has_shape(word, "0000-00-00T00:00:00") ||
         has_shape(word, "0000-00-00T00:00:00Z");
}

bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

/// One function for each rule of the grammar. Throws NotToml.
class Scan {
 public:
  explicit Scan(std::string_view text) : rest_(text) { take("\xef\xbb\xbf"); }

  void run() {
    while (skip_lines(), !rest_.empty()) {
      at('[') ? heading() : pair(0);
      end_of_line();
    }
  }

 private:
  void heading() {
    const bool twice = take("[[");
    if (!twice) take("[");
    key();
    if (!take(twice ? "]]" : "]")) refuse("expected a ] after the key");
  }

  void pair(unsigned depth) {
    key();
    if (!take("=")) refuse("expected a = after the key");
    skip(kSpace);
    value(depth);
  }

  /// Takes the blanks before and after the key, too.
  void key() {
    do {
      skip(kSpace);
      if (rest_.starts_with("\"\"\"") || rest_.starts_with("'''")) refuse("expected a key");
      if (at('"') || at('\'')) {
        text();
      } else if (!skip(kBare)) {
        refuse(
            "expected a key; a key with other characters than A-Z, a-z, 0-9, - and _ needs quotes");
      }
      skip(kSpace);
    } while (take("."));
  }

  void value(unsigned depth) {
    if (depth > kDeepest) refuse("brackets are nested too deeply");
    if (at('"') || at('\'')) return text();
    if (take("[")) return array(depth + 1);
    if (take("{")) return table(depth + 1);
    const std::string_view word =
        rest_.substr(0, rest_.find_first_not_of(std::string(kBare) + "+.:"));
    if (!is_number_like(word) && !is_date(word)) refuse("expected a value");
    drop(word.size());
  }

  void array(unsigned depth) {
    while (skip_lines(), !take("]")) {
      value(depth);
      skip_lines();
      if (!take(",") && !at(']')) refuse("expected a , or ] after the value");
    }
  }

  void table(unsigned depth) {
    skip(kSpace);
    if (take("}")) return;
    do {
      pair(depth);
      skip(kSpace);
    } while (take(","));
    if (!take("}")) refuse("expected a , or } after the value");
  }

  void text() {
    const unsigned begin = line_;
    const char quote = rest_.front();
    const bool several_lines = rest_.starts_with(std::string(3, quote));
    const std::string end(several_lines ? 3 : 1, quote);
    take(end);
    while (!rest_.empty() && (several_lines || !at('\n'))) {
      if (take(end)) {
        // Up to two quotes may stand before the three closing ones.
        for (int more = 0; several_lines && more < 2 && at(quote); ++more) drop(1);
        return;
      }
      quote == '"' && at('\\') ? escape(several_lines) : drop(1);
    }
    line_ = begin;
    refuse("a text has no closing quote");
  }

  /// The characters that toml++ looks at must be ASCII; toml++ checks the other rules itself.
  void escape(bool several_lines) {
    drop(1);
    if (several_lines && skip(" \t\r\n")) {  // toml++ compares what follows with all blanks
      if (rest_.empty() || is_ascii(rest_.front())) return;
      refuse(
          "after a \\ at the end of a line, the text goes on with a character that is not ASCII");
    }
    const std::size_t digits = at('u') ? 4 : at('U') ? 8 : 0;
    const std::string_view code = rest_.substr(0, digits + 1);
    const bool fits = code.size() == digits + 1 && is_ascii(code.front()) &&
                      code.find_first_not_of("0123456789abcdefABCDEF", 1) == code.npos;
    if (!fits) refuse("a \\ in a text does not begin an escape");
    if (!at('\n')) drop(code.size());
  }

  void end_of_line() {
    skip(kSpace);
    if (at('#')) drop(std::min(rest_.find('\n'), rest_.size()));
    take("\r");
    if (!rest_.empty() && !take("\n")) refuse("something follows the value or heading");
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

  [[noreturn]] void refuse(const char* why) const { throw NotToml{line_, why}; }

  std::string_view rest_;
  unsigned line_ = 1;
};

std::string name_of(toml::node_type type) {
  if (type == toml::node_type::table) return "a table";
  if (type == toml::node_type::array) return "an array";
  if (type == toml::node_type::string) return "a string";
  if (type == toml::node_type::boolean) return "true or false";
  if (type == toml::node_type::floating_point) return "a decimal number";
  return type == toml::node_type::integer ? "a number" : "a date or time";
}

/// A number as parse_duration and the like read it: without an exponent, and with no more decimal
/// places than it needs. std::to_chars() can do that, but needs libm, which nothing else does:
/// every start of redlock would load it.
std::string decimal(const toml::node& value) {
  if (const auto* whole = value.as_integer()) return std::to_string(**whole);
  const double number = **value.as_floating_point();
  constexpr int kMostPlaces = 340;
  std::array<char, 700> text{};
  for (int places = 0; places <= kMostPlaces; ++places) {
    std::snprintf(text.data(), text.size(), "%.*f", places, number);
    if (std::strtod(text.data(), nullptr) == number) break;
  }
  return text.data();
}

[[noreturn]] void refuse(const Draft& draft, unsigned line, const std::string& message) {
  throw Error(ExitStatus::config, draft.config_file + ":" + std::to_string(line) + ": " + message);
}

[[noreturn]] void refuse_key(const Draft& draft, std::string_view key, unsigned line) {
  std::string message = "unknown key " + quote(key);
  std::vector<std::string> keys;
  for (const Row& row : table()) keys.push_back(file_key(row));
  const std::string meant = nearest(key, keys);
  if (!meant.empty()) message += ", did you mean " + meant + "?";
  refuse(draft, line, message + " (see redlock.toml(5))");
}

[[noreturn]] void refuse_type(const Draft& draft, const Row& row, const toml::node& value,
                              unsigned line, const std::string& expected) {
  refuse(draft, line, file_key(row) + ": expected " + expected + ", not " + name_of(value.type()));
}

void store_list(Draft& draft, const Row& row, const toml::node& value, unsigned line) {
  const toml::array* array = value.as_array();
  const std::string expected = "an array of strings, such as [\"redis://db1\"]";
  if (array == nullptr) refuse_type(draft, row, value, line, expected);
  if (array->empty()) refuse(draft, line, file_key(row) + ": expected at least one");
  for (const toml::node& element : *array) {
    const unsigned at = element.source().begin.line;
    const auto* text = element.as_string();
    if (text == nullptr) refuse_type(draft, row, element, at, expected);
    // Blanks separate the servers of a list in the environment, but not in the file.
    if (text->get().find_first_of(kBlanks) != std::string::npos) {
      refuse(draft, at, file_key(row) + ": expected one URI in each string");
    }
    store(row, draft, text->get(), {Origin::file, at});
  }
  draft.given[row.name].line = line;
}

void store_value(Draft& draft, const Row& row, const toml::node& value, unsigned line) {
  const Source source{Origin::file, line};
  switch (row.type) {
    case Type::uri_list:
      return store_list(draft, row, value, line);
    case Type::toggle:
      if (!value.is_boolean()) refuse_type(draft, row, value, line, "true or false");
      return store(row, draft, **value.as_boolean() ? "true" : "false", source);
    case Type::duration:
      if (value.is_number()) return store(row, draft, decimal(value), source);
      if (!value.is_string()) {
        refuse_type(draft, row, value, line, "a time such as \"30s\", or a number of seconds");
      }
      break;
    case Type::integer:
      if (!value.is_integer()) refuse_type(draft, row, value, line, "a whole number");
      return store(row, draft, decimal(value), source);
    default:
      if (!value.is_string()) refuse_type(draft, row, value, line, "a string");
  }
  store(row, draft, **value.as_string(), source);
}

/// The message of toml++, without the text it complains about: that may be a password.
std::string without_input(std::string_view description) {
  constexpr std::string_view opening = "Error while ";
  if (description.starts_with(opening)) description.remove_prefix(opening.size());
  std::string text(description.substr(0, description.find(", saw")));
  const std::size_t first = text.find('\'');
  const std::size_t last = text.rfind('\'');
  if (first != last) text.replace(first + 1, last - first - 1, "...");
  return text;
}

toml::table parse_toml(const std::string& text) {
  check_toml(text);
  toml::parse_result parsed = toml::parse(text);
  if (parsed) return std::move(parsed).table();
  const toml::parse_error& error = parsed.error();
  throw NotToml{error.source().begin.line, without_input(error.description())};
}

}  // namespace

void check_toml(std::string_view text) {
  Scan(text).run();
}

Content read_toml(const std::string& text, Draft& draft) {
  toml::table settings;
  try {
    settings = parse_toml(text);
  } catch (const NotToml& trouble) {
    refuse(draft, trouble.line, "not valid TOML (texts need quotes): " + trouble.why);
  }
  bool secret = false;
  for (const auto& [key, value] : settings) {
    const std::string_view name = key.str();
    const auto row = std::ranges::find_if(
        table(), [name](const Row& other) { return file_key(other) == name; });
    // The line of a [table] is the line of its heading.
    const unsigned line = key.source().begin.line;
    if (row == table().end()) refuse_key(draft, name, line);
    const auto* password = row->type == Type::secret ? value.as_string() : nullptr;
    secret = secret || (password != nullptr && !password->get().empty());
    if (draft.origin(row->name) == Origin::built_in) store_value(draft, *row, value, line);
  }
  const bool in_uri =
      draft.origin(key::server) == Origin::file &&
      std::ranges::any_of(draft.settings.servers, [](const redis::Endpoint& server) {
        return !server.credentials.password.empty();
      });
  return secret || in_uri ? Content::secret : Content::settings;
}

}  // namespace redlock::config
