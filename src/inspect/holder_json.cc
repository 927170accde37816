// SPDX-License-Identifier: MIT
#include "inspect/holder_json.h"
#include "diag/duration.h"
#include "records/holder.h"

namespace redlock::inspect {

using records::Json;

Json in_seconds(const std::optional<std::chrono::milliseconds>& time) {
  if (!time) return {};
  return std::chrono::duration<double>(*time).count();
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json since_or_null(std::chrono::milliseconds unix_time) {
  return unix_time.count() > 0 ? Json(unix_time.count()) : Json();
}

Json holder_json(const std::optional<records::Holder>& holder) {
  if (!holder) return {};
  return Json::object({{"host", holder->host},
                       {"user", holder->user},
                       {"pid", holder->pid},
                       {"command", holder->command},
                       {"message", text_or_null(holder->message)},
                       {"maintenance", holder->maintenance},
                       {"since_ms", since_or_null(holder->since)},
                       {"for_s", in_seconds(diag::ago(holder->since))},
                       {"ttl_s", in_seconds(holder->ttl)},
                       {"fingerprint", text_or_null(holder->servers)},
                       {"protocol", holder->protocol}});
}

}  // namespace redlock::inspect
