// SPDX-License-Identifier: MIT
//
// What is known about locks as JSON: redlock-json(7). Absent on purpose: the runs of a lock
// (look/history_json.cc), which only `redlock history` shows.
#pragma once

#include <concepts>

#include "observe/observed.h"

namespace redlock::observe {

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

/// Null, or nothing, if it is 0.
records::Json unless_zero(std::integral auto number) {
  return number == 0 ? records::Json() : records::Json(number);
}

inline std::optional<std::chrono::milliseconds> unless_zero(std::chrono::milliseconds time) {
  return time.count() == 0 ? std::nullopt : std::optional(time);
}

Members person(const records::Holder& who);
records::Json servers_json(const config::Settings& settings, const Troubles& troubles);
records::Json refusals_json(const std::vector<Refusals>& refusals);

/// A holder in the form of `status`, `list` and `acquire`; null if there is none.
records::Json holder_json(const std::optional<records::Holder>& holder,
                          const config::Settings& settings);
/// The hashes of a list in a record.
records::Json list_json(const std::string& list);

std::string to_json(const std::vector<Observed>& locks, const config::Settings& settings,
                    const Troubles& troubles, ExitStatus status);

}  // namespace redlock::observe
