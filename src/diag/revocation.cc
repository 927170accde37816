// SPDX-License-Identifier: MIT
#include "diag/revocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "diag/json_fields.h"
#include "diag/text.h"
#include "lock/value.h"

namespace redlock::diag {

namespace {

constexpr std::size_t kMostName = 64;  // twice that in JSON, at worst

std::optional<Revocation> read_note(std::string_view text) {
  const nlohmann::json note = nlohmann::json::parse(text, nullptr, false);
  if (!note.is_object()) return std::nullopt;
  Revocation revocation;
  revocation.host = text_of(note, "host");
  revocation.user = text_of(note, "user");
  revocation.pid = number_of(note, "pid").value_or(0);
  revocation.since = time_of(note, "since").value_or(std::chrono::milliseconds::zero());
  return revocation;
}

}  // namespace

std::string revoked_value(std::string_view token, const Revocation& revocation) {
  const nlohmann::json note = {
      {"host", printable(revocation.host, kMostName)},
      {"user", printable(revocation.user, kMostName)},
      {"pid", revocation.pid},
      {"since", revocation.since.count()},
  };
  return fmt::format("revoked:{} {}", token, note.dump());
}

std::optional<Revocation> read_revocation(std::string_view value) {
  const lock::Value parts = lock::read_value(value);
  return parts.kind == lock::Value::Kind::revoked ? read_note(parts.note) : std::nullopt;
}

std::optional<Revocation> revocation_in_word(std::string_view text) {
  constexpr std::string_view kWord = "revoked ";
  return text.starts_with(kWord) ? read_note(text.substr(kWord.size())) : std::nullopt;
}

std::string describe(const Revocation& revocation) {
  return fmt::format("{}@{} (pid {})", printable(revocation.user, kMostName),
                     printable(revocation.host, kMostName), revocation.pid);
}

std::optional<std::string> revoked_by(const std::vector<lock::Complaint>& complaints,
                                      std::string_view heard) {
  std::optional<std::string> by;
  const bool gone = std::ranges::any_of(complaints, [](const lock::Complaint& complaint) {
    return std::holds_alternative<lock::Missing>(complaint.answer) ||
           std::holds_alternative<lock::NotMine>(complaint.answer);
  });
  const auto told = revocation_in_word(heard);
  if (gone && told) by = " by " + describe(*told);
  for (const lock::Complaint& complaint : complaints) {
    const auto* not_mine = std::get_if<lock::NotMine>(&complaint.answer);
    if (not_mine == nullptr) continue;
    if (const auto revocation = read_revocation(not_mine->blocker)) {
      return " by " + describe(*revocation);
    }
    const bool revoked = lock::read_value(not_mine->blocker).kind == lock::Value::Kind::revoked;
    if (revoked && !by) by = "";
  }
  return by;
}

}  // namespace redlock::diag
