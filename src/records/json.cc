// SPDX-License-Identifier: MIT
//
// The only file that includes nlohmann/json.hpp, which takes seconds to compile.
#include "records/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace redlock::records {

namespace {

enum class Letters { ascii, utf8 };

std::string quoted(std::string_view text, Letters letters) {
  return nlohmann::json(text).dump(-1, ' ', letters == Letters::ascii,
                                   nlohmann::json::error_handler_t::replace);
}

/// `parts` in lines of their own, between the brackets. Texts contain no line breaks: they are
/// escaped as \n.
std::string indented(char open, const std::vector<std::string>& parts, char close) {
  std::string out(1, open);
  for (const std::string& part : parts) {
    out += out.size() > 1 ? ",\n  " : "\n  ";
    for (const char letter : part) {
      out += letter;
      if (letter == '\n') out += "  ";
    }
  }
  if (!parts.empty()) out += '\n';
  return out + close;
}

}  // namespace

Json::Json(double number) : text_(nlohmann::json(number).dump()) {}

Json::Json(std::string_view text) : text_(quoted(text, Letters::ascii)) {}

Json Json::object(const std::vector<Member>& members) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : members) {
    parts.push_back(quoted(key, Letters::ascii) + ": " + value.text_);
  }
  Json object;
  object.text_ = indented('{', parts, '}');
  return object;
}

Json Json::array(const std::vector<Json>& elements) {
  std::vector<std::string> parts;
  for (const Json& element : elements) parts.push_back(element.text_);
  Json array;
  array.text_ = indented('[', parts, ']');
  return array;
}

void JsonRecord::add(std::string_view key, std::string_view text) {
  begin(key);
  text_ += quoted(text, Letters::utf8);
}

std::optional<JsonFields> JsonFields::read(std::string_view json) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  // Nothing deeper is kept: it may take a hundred times the memory of its text.
  const auto flat = [](int depth, nlohmann::json::parse_event_t event, const nlohmann::json&) {
    using Event = nlohmann::json::parse_event_t;
    return depth == 0 || (event != Event::object_start && event != Event::array_start);
  };
  const auto parsed = nlohmann::json::parse(json, flat, false);
  if (!parsed.is_object()) return std::nullopt;
  JsonFields all;
  for (const auto& [key, value] : parsed.items()) {
    if (value.is_string()) {
      all.texts_.emplace(key, value.get<std::string>());
    } else if (value.is_number_integer() && !(value.is_number_unsigned() && value > kMost)) {
      all.numbers_.emplace(key, value.get<std::int64_t>());
    }
  }
  return all;
}

std::string JsonFields::text(std::string_view key) const {
  const auto found = texts_.find(key);
  return found == texts_.end() ? std::string() : found->second;
}

std::optional<std::int64_t> JsonFields::number(std::string_view key) const {
  const auto found = numbers_.find(key);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::chrono::milliseconds> JsonFields::time(std::string_view key) const {
  constexpr std::int64_t kYear2200 = 7'258'118'400'000;
  const auto number = this->number(key);
  if (!number) return std::nullopt;
  return std::chrono::milliseconds(std::clamp<std::int64_t>(*number, 0, kYear2200));
}

}  // namespace redlock::records
