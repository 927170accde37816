// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "records/holder.h"
#include "records/json.h"

namespace redlock::inspect {

/// A holder as `status`, `list` and `acquire` show it with --json; null if there is none.
records::Json holder_json(const std::optional<records::Holder>& holder);

/// Null if there is none.
records::Json in_seconds(const std::optional<std::chrono::milliseconds>& time);

/// Null if its writer did not say it.
records::Json since_or_null(std::chrono::milliseconds unix_time);

records::Json text_or_null(const std::string& text);

}  // namespace redlock::inspect
