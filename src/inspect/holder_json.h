// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "diag/holder.h"
#include "diag/json.h"

namespace redlock::inspect {

/// A holder in the form of `status`, `list` and `acquire` with --json; null if there is none.
diag::Json holder_json(const std::optional<diag::Holder>& holder);

/// Null if there is none.
diag::Json in_seconds(const std::optional<std::chrono::milliseconds>& time);

/// Null if its writer left it empty.
diag::Json since_or_null(std::chrono::milliseconds unix_time);

diag::Json text_or_null(const std::string& text);

}  // namespace redlock::inspect
