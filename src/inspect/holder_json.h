// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "records/holder.h"
#include "records/json.h"

namespace redlock::inspect {

/// A holder in the form of `status`, `list` and `acquire` with --json; null if there is none.
records::Json holder_json(const std::optional<records::Holder>& holder);

/// Null if there is none.
records::Json in_seconds(const std::optional<std::chrono::milliseconds>& time);

/// Null if its writer left it empty.
records::Json since_or_null(std::chrono::milliseconds unix_time);

records::Json text_or_null(const std::string& text);

}  // namespace redlock::inspect
