// SPDX-License-Identifier: MIT
//
// The only file that includes nlohmann/json.hpp, which takes seconds to compile.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "records/json.h"

namespace redlock::records {

/// Takes the fields one by one as the parser finds them. It builds no nlohmann::json: to destroy an
/// object of those needs memory, and without memory the program would abort while it holds a lock.
class JsonFields::Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonFields take() { return std::move(fields_); }
  [[nodiscard]] bool is_object() const { return is_object_; }

  bool null() override { return leave_out(); }
  bool boolean(bool) override { return leave_out(); }
  bool number_float(double, const std::string&) override { return leave_out(); }
  bool binary(binary_t&) override { return leave_out(); }
  bool string(std::string& text) override { return put(std::move(text)); }
  bool number_integer(std::int64_t number) override { return put(number); }
  bool number_unsigned(std::uint64_t number) override {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return number > kMost ? leave_out() : put(static_cast<std::int64_t>(number));
  }

  bool start_object(std::size_t) override {
    if (depth_ == 0) is_object_ = true;
    return begin();
  }
  bool start_array(std::size_t) override { return begin(); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(std::string& key) override {
    if (depth_ == 1) key_ = std::move(key);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  template <class Value>
  bool put(Value value) {
    if (depth_ == 1) fields_.fields_.insert_or_assign(key_, std::move(value));
    return true;
  }
  /// If a key comes several times, the last value counts.
  bool leave_out() {
    if (depth_ == 1) fields_.fields_.erase(key_);
    return true;
  }
  bool begin() {
    leave_out();
    ++depth_;
    return true;
  }
  bool end() {
    --depth_;
    return true;
  }

  JsonFields fields_;
  std::string key_;  ///< the latest key of the outermost object
  std::size_t depth_ = 0;
  bool is_object_ = false;
};

std::optional<JsonFields> JsonFields::read(std::string_view json) {
  Reader reader;
  if (!nlohmann::json::sax_parse(json, &reader) || !reader.is_object()) return std::nullopt;
  return reader.take();
}

std::string JsonFields::text(std::string_view key) const {
  const auto found = fields_.find(key);
  const auto* text = found == fields_.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

std::optional<std::int64_t> JsonFields::number(std::string_view key) const {
  const auto found = fields_.find(key);
  const auto* number = found == fields_.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<std::chrono::milliseconds> JsonFields::time(std::string_view key) const {
  constexpr std::int64_t kYear2200 = 7'258'118'400'000;
  const auto number = this->number(key);
  if (!number) return std::nullopt;
  return std::chrono::milliseconds(std::clamp<std::int64_t>(*number, 0, kYear2200));
}

}  // namespace redlock::records
