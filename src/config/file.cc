// SPDX-License-Identifier: MIT
//
// The only file that includes toml++, which takes seconds to compile. toml++ runs only if there is
// a file that is not empty.
#include "config/file.h"

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "config/exposure.h"
#include "config/nearest.h"
#include "config/pipes.h"
#include "config/quote.h"
#include "config/read_file.h"
#include "config/toml_guard.h"
#include "config/value.h"
#include "error.h"

namespace redlock::config {
namespace {

constexpr std::size_t kLongestFile = 256 * std::size_t{1024};

std::string name_of(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

/// A number as parse_duration and the like read it: without an exponent, and with no more decimal
/// places than it needs. std::to_chars() can do that, but needs libm, which nothing else does:
/// every start of redlock would load it.
std::string decimal(double number) {
  constexpr int kMostPlaces = 340;
  std::array<char, 700> text{};
  for (int places = 0; places <= kMostPlaces; ++places) {
    std::snprintf(text.data(), text.size(), "%.*f", places, number);
    if (std::strtod(text.data(), nullptr) == number) break;
  }
  return text.data();
}

class Reader {
 public:
  explicit Reader(Draft& draft) : draft_(draft) {}

  void read(const toml::table& settings) {
    for (const auto& [key, value] : settings) {
      const std::string_view name = key.str();
      const auto row = std::ranges::find_if(
          table(), [name](const Row& other) { return file_key(other) == name; });
      // The line of a [table] is the line of its heading.
      const unsigned line = key.source().begin.line;
      if (row == table().end()) refuse_key(name, line);
      const bool overridden = draft_.origin(row->key) != Origin::built_in;
      holds_secret_ = holds_secret_ || (row->type == Type::secret && value.is_string() &&
                                        !value.as_string()->get().empty());
      if (!overridden) take(*row, value, line);
    }
  }

  /// Whether the file contains a password.
  [[nodiscard]] bool holds_secret() const {
    if (holds_secret_) return true;
    return draft_.origin(Key::server) == Origin::file &&
           std::ranges::any_of(draft_.settings.servers, [](const redis::Endpoint& server) {
             return !server.credentials.password.empty();
           });
  }

 private:
  [[noreturn]] void refuse(unsigned line, const std::string& message) const {
    throw Error(ExitStatus::config,
                draft_.config_file + ":" + std::to_string(line) + ": " + message);
  }

  [[noreturn]] void refuse_key(std::string_view key, unsigned line) const {
    std::string message = "unknown key " + quote(key);
    Nearest nearest(key);
    for (const Row& row : table()) {
      const std::string other = file_key(row);
      if (!other.empty()) nearest.offer(other);
    }
    if (!nearest.best().empty()) message += ", did you mean " + nearest.best() + "?";
    refuse(line, message + " (see redlock.toml(5))");
  }

  [[noreturn]] void refuse_type(const Row& row, const toml::node& value, unsigned line,
                                const std::string& expected) const {
    refuse(line, file_key(row) + ": expected " + expected + ", not " + name_of(value.type()));
  }

  void take(const Row& row, const toml::node& value, unsigned line) {
    const Source source{Origin::file, line};
    switch (row.type) {
      case Type::uri_list:
        return take_list(row, value, line);
      case Type::toggle:
        if (!value.is_boolean()) refuse_type(row, value, line, "true or false");
        return store(row, draft_, **value.as_boolean() ? "true" : "false", source);
      case Type::duration:
        if (value.is_number()) return store(row, draft_, number(value), source);
        if (!value.is_string()) {
          refuse_type(row, value, line, "a time such as \"30s\", or a number of seconds");
        }
        break;
      case Type::integer:
        if (!value.is_integer()) refuse_type(row, value, line, "a whole number");
        return store(row, draft_, number(value), source);
      default:
        if (!value.is_string()) refuse_type(row, value, line, "a string");
    }
    store(row, draft_, **value.as_string(), source);
  }

  static std::string number(const toml::node& value) {
    if (const auto* whole = value.as_integer()) return std::to_string(**whole);
    return decimal(**value.as_floating_point());
  }

  void take_list(const Row& row, const toml::node& value, unsigned line) {
    const toml::array* array = value.as_array();
    const std::string expected = "an array of strings, such as [\"redis://db1\"]";
    if (array == nullptr) refuse_type(row, value, line, expected);
    if (array->empty()) refuse(line, file_key(row) + ": expected at least one");
    for (const toml::node& element : *array) {
      const unsigned at = element.source().begin.line;
      const auto* text = element.as_string();
      if (text == nullptr) refuse_type(row, element, at, expected);
      // Blanks separate the servers of a list in the environment, but not in the file.
      if (text->get().find_first_of(kBlanks) != std::string::npos) {
        refuse(at, file_key(row) + ": expected one URI in each string");
      }
      store(row, draft_, text->get(), {Origin::file, at});
    }
    draft_.of(row.key).source.line = line;
  }

  Draft& draft_;
  bool holds_secret_ = false;
};

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

}  // namespace

void add_file(Draft& draft) {
  const bool named = !draft.config_file.empty();
  if (!named) draft.config_file = kDefaultFile;
  const std::string& path = draft.config_file;
  const FileRead file = read_file_or_pipe(path, kLongestFile, draft);
  if (!named && (file.error == ENOENT || file.error == ENOTDIR)) return;
  if (const std::string why = file.trouble(); !why.empty()) {
    throw Error(ExitStatus::config,
                "configuration file " + quote(path) + ": " + why +
                    (named ? "" : "; make it readable, or use --config /dev/null to read no file"));
  }
  if (file.too_long) {
    throw Error(ExitStatus::config, "configuration file " + quote(path) + ": too long");
  }
  if (file.text.empty()) return;
  const auto refuse = [&path](unsigned line, const std::string& why) {
    throw Error(ExitStatus::config,
                path + ":" + std::to_string(line) + ": not valid TOML (texts need quotes): " + why);
  };
  if (const auto trouble = not_toml(file.text)) {
    refuse(trouble->line, std::string(trouble->why));
  }
  const toml::parse_result parsed = toml::parse(file.text, path);
  if (!parsed) {
    refuse(parsed.error().source().begin.line, without_input(parsed.error().description()));
  }
  Reader reader(draft);
  reader.read(parsed.table());
  const Content content = reader.holds_secret() ? Content::secret : Content::settings;
  const std::string warning = exposure(file, path, content);
  if (!warning.empty()) draft.settings.warnings.push_back(warning);
}

}  // namespace redlock::config
