// SPDX-License-Identifier: MIT
//
// How a row of the table reads the value of its option and stores it in a draft.
#pragma once

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "config/table.h"
#include "config/value.h"

namespace redlock::config {

/// The member in that part of the draft which has it.
template <class Type, class Part>
Type& in(Draft& draft, Type Part::*member) {
  Options& options = draft;
  const auto parts = std::tie(draft, options, draft.settings, draft.settings.tls);
  return std::get<Part&>(parts).*member;
}

/// A flag without a value.
template <auto member, bool on = true>
void toggle(Draft& draft, std::string_view) {
  in(draft, member) = on;
}

inline void count_verbose(Draft& draft, std::string_view) {
  ++draft.settings.verbose;
}

/// Stores what `read` makes of the value.
template <auto member, auto read = [](std::string_view value) { return value; }>
void set(Draft& draft, std::string_view value) {
  in(draft, member) = read(value);
}

template <auto member, int least, int most>
void set_integer(Draft& draft, std::string_view value) {
  auto& field = in(draft, member);
  field = static_cast<std::remove_reference_t<decltype(field)>>(to_integer(value, least, most));
}

template <auto member, Tense tense>
void set_moment(Draft& draft, std::string_view value) {
  in(draft, member) = to_moment(value, tense, draft.settings.warnings);
}

enum class Round { down, up };

/// Stores a time, in the unit of the member.
template <auto member, const Bounds& bounds = kAnyTime, Round round = Round::down>
void set_time(Draft& draft, std::string_view value) {
  auto& field = in(draft, member);
  using Unit = std::remove_cvref_t<decltype(*std::optional(field))>;
  const auto time = to_duration(value, bounds);
  field = round == Round::up ? std::chrono::ceil<Unit>(time) : std::chrono::floor<Unit>(time);
}

/// `words`: the enumeration's values in their order, between '|'.
template <class Enum, const std::string_view& words>
Enum to_choice(std::string_view value) {
  const std::vector<std::string_view> all = parts_of(words, "|");
  const auto word = std::ranges::find(all, value);
  if (word != all.end()) return static_cast<Enum>(word - all.begin());
  std::string expected;
  for (const std::string_view each : all) {
    if (!expected.empty()) expected += each == all.back() ? " or " : ", ";
    expected += each;
  }
  reject(expected, value);
}

inline void set_tls_insecure(Draft& draft, std::string_view value) {
  const bool yes = value.empty() || value == "1" || value == "true";  // empty: the flag
  if (!yes && value != "0" && value != "false") reject("0 or 1", value);
  draft.settings.tls.verify =
      yes ? redis::TlsSettings::Verify::nothing : redis::TlsSettings::Verify::server;
}

/// A host's name, which is not an IP address.
inline std::string to_host_name(std::string_view value) {
  const bool name = value.find_first_not_of("0123456789.") != std::string_view::npos &&
                    value.find_first_of(":/@ ") == std::string_view::npos;
  if (!name) reject("a host's name, without a port", value);
  return std::string(value);
}

inline std::string to_file(std::string_view value) {
  if (value.empty()) reject("the name of a file", value);
  return std::string(value);
}

inline std::string to_optional_file(std::string_view value) {
  if (value.empty()) reject("the name of a file (/dev/null: none)", value);
  return std::string(value);
}

}  // namespace redlock::config
