// SPDX-License-Identifier: MIT
#include <utility>

#include "config/value.h"
#include "diag/text.h"
#include "driver/output.h"
#include "look/look.h"
#include "look/screen.h"
#include "records/records.h"

namespace redlock::look {

namespace {

using config::Draft;
namespace key = config::key;
using config::Origin;
using config::Row;
using config::Type;

constexpr std::size_t kMostOfValue = 200;

/// One setting, ready for output. No values: the setting is not set, and has no default.
struct SettingLine {
  std::string name;
  Type type;
  std::vector<std::string> values;
  std::string_view origin;  ///< one word
  std::string where;        ///< the flag, the variable, file:line
  std::string_view note{};  ///< for the table, after the origin
};

std::string_view word_for(Origin origin) {
  constexpr std::string_view kInOrder[] = {"default", "file", "environment", "flag"};  // of Origin
  static_assert(std::size(kInOrder) == static_cast<std::size_t>(Origin::flag) + 1);
  return kInOrder[static_cast<std::size_t>(origin)];
}

std::vector<std::string> values_of(const Row& row, const Draft& draft) {
  const config::Settings& settings = draft.settings;
  const config::Source given = draft.of(row.name);
  const bool set = given.origin != Origin::built_in;
  if (row.name == key::server) {
    std::vector<std::string> uris;
    for (const redis::Endpoint& server : settings.servers) uris.push_back(server.display());
    return uris;
  }
  if (row.type == Type::secret)
    return set ? std::vector<std::string>{"***"} : std::vector<std::string>{};
  // These two depend on the ttl, too.
  if (row.name == key::kill_after) return {config::format_duration(settings.grace())};
  if (row.name == key::server_timeout) return {config::format_duration(settings.request_timeout())};
  if (!set && (row.default_text.empty() || row.default_text == "none")) return {};
  const std::string_view text = set ? std::string_view(given.text) : row.default_text;
  // A flag has no text, the environment and the file have each their own words.
  if (row.type == Type::toggle) return {text == "0" || text == "false" ? "false" : "true"};
  if (row.type != Type::duration) return {diag::printable(text, kMostOfValue)};
  const auto duration = config::parse_duration(text);
  return {duration ? config::format_duration(*duration) : std::string(text)};
}

std::vector<SettingLine> lines_of(const Draft& draft) {
  std::vector<SettingLine> lines;
  for (const Row& row : config::table()) {
    if (row.environment == nullptr || !takes(config::kConfig, row)) continue;
    const std::string key = file_key(row);
    lines.push_back({key.empty() ? std::string(row.name) : key, row.type, values_of(row, draft),
                     word_for(draft.origin(row.name)), config::origin_of(draft, row.name),
                     row.name == key::config_file && draft.no_file ? ", no such file" : ""});
  }
  return lines;
}

using records::Json;

/// Null if it is not set. A default that is a description, not a value, has blanks.
Json json_value(const SettingLine& line) {
  if (line.type == Type::uri_list) return Json::array({line.values.begin(), line.values.end()});
  if (line.type == Type::toggle) return !line.values.empty() && line.values.front() == "true";
  if (line.values.empty()) return {};
  const std::string& text = line.values.front();
  const auto time = config::parse_duration(text);
  if (line.type == Type::duration && time) return std::chrono::duration<double>(*time).count();
  if (line.type == Type::integer) return std::stoll(text);
  const bool described = line.origin == word_for(Origin::built_in) && text.find(' ') != text.npos;
  return described || line.type == Type::duration ? Json() : Json(text);
}

std::string as_json(const std::vector<SettingLine>& lines) {
  std::vector<Json::Member> settings;
  for (const SettingLine& line : lines) {
    const Json from = line.where.empty() ? Json() : Json(line.where);
    const Json unit = line.type == Type::duration ? Json("s") : Json();
    settings.emplace_back(line.name, Json::object({{"value", json_value(line)},
                                                   {"unit", unit},
                                                   {"origin", line.origin},
                                                   {"where", from}}));
  }
  return Json::object(settings).output();
}

std::string as_table(const std::vector<SettingLine>& lines) {
  std::vector<Line> rows;
  for (const SettingLine& line : lines) {
    std::string name = line.name;
    const std::string from =
        (line.where.empty() ? std::string(line.origin) : line.where) + std::string(line.note);
    const std::vector<std::string> none = {"-"};
    for (const std::string& value : line.values.empty() ? none : line.values) {
      rows.push_back({{std::exchange(name, {})}, {value}, {from}});
    }
  }
  return lay_out(rows, fit(rows, {}, diag::kNoLimit), {});
}

}  // namespace

Exit carry_out(const cli::ShowConfig& draft) {
  const std::vector<SettingLine> lines = lines_of(draft);
  return driver::print(draft.json ? as_json(lines) : as_table(lines), ExitStatus::ok);
}

}  // namespace redlock::look
