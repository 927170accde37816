// SPDX-License-Identifier: MIT
//
// What status, list and history print with --json: see redlock-json(7).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exit_status.h"
#include "look/history.h"
#include "look/observed.h"
#include "records/holder.h"
#include "records/json.h"

namespace redlock::look {

/// Null if there is none.
records::Json in_seconds(const std::optional<std::chrono::milliseconds>& time);
records::Json text_or_null(std::string_view text);

using Members = std::vector<records::Json::Member>;

/// Adds a moment (Unix time) as two members: as RFC 3339 in UTC, and in milliseconds. Both names
/// must outlive the members.
void add_time(Members& members, std::string_view name, std::string_view name_ms,
              const std::optional<std::chrono::milliseconds>& time);

/// An array with what `as_json` makes of each of `things`.
records::Json array_of(const auto& things, const auto& as_json) {
  std::vector<records::Json> all;
  for (const auto& each : things) all.push_back(as_json(each));
  return records::Json::array(all);
}

/// A holder in the form of `status`, `list` and `acquire`; null if there is none.
records::Json holder_json(const std::optional<records::Holder>& holder);

std::string to_json(const std::vector<Observed>& locks, const config::Settings& settings,
                    const Troubles& troubles, ExitStatus status);

std::string to_json(const std::vector<HistoryView>& views, const cli::History& request,
                    const Troubles& troubles, ExitStatus status);

}  // namespace redlock::look
