// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "diag/holder.h"

namespace redlock::inspect {

/// A holder as `status`, `list` and `acquire` show it with --json; null if there is none.
nlohmann::ordered_json holder_json(const std::optional<diag::Holder>& holder);

/// Null if there is none.
nlohmann::ordered_json in_seconds(const std::optional<std::chrono::milliseconds>& time);

/// Null if its writer did not say it.
nlohmann::ordered_json since_or_null(std::chrono::milliseconds unix_time);

nlohmann::ordered_json text_or_null(const std::string& text);

}  // namespace redlock::inspect
