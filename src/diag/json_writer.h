// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace redlock::diag {

/// A flat JSON object, on one line. Not a nlohmann::json: an object of those needs memory to be
/// destroyed, and where there is none the program is aborted, with a lock in its hands.
class JsonWriter {
 public:
  void add(std::string_view key, std::string_view text) {
    begin(key);
    text_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void add(std::string_view key, std::integral auto number) {
    begin(key);
    text_ += std::to_string(number);
  }

  [[nodiscard]] std::string object() const { return "{" + text_ + "}"; }

 private:
  /// A key needs no escapes.
  void begin(std::string_view key) {
    if (!text_.empty()) text_ += ',';
    ((text_ += '"') += key) += "\":";
  }

  std::string text_;
};

}  // namespace redlock::diag
