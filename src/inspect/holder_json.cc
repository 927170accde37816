// SPDX-License-Identifier: MIT
#include "inspect/holder_json.h"

#include <nlohmann/json.hpp>

namespace redlock::inspect {

using nlohmann::ordered_json;

ordered_json in_seconds(const std::optional<std::chrono::milliseconds>& time) {
  if (!time) return {};
  return std::chrono::duration<double>(*time).count();
}

ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json() : ordered_json(text);
}

ordered_json since_or_null(std::chrono::milliseconds unix_time) {
  return unix_time.count() > 0 ? ordered_json(unix_time.count()) : ordered_json();
}

ordered_json holder_json(const std::optional<diag::Holder>& holder) {
  if (!holder) return {};
  return {{"host", holder->host},
          {"user", holder->user},
          {"pid", holder->pid},
          {"command", holder->command},
          {"since_ms", since_or_null(holder->since)},
          {"for_s", in_seconds(diag::ago(holder->since))},
          {"ttl_s", in_seconds(holder->ttl)},
          {"fingerprint", text_or_null(holder->servers)},
          {"protocol", holder->protocol}};
}

}  // namespace redlock::inspect
