// SPDX-License-Identifier: MIT
#include "diag/revocation.h"

#include <fmt/format.h>

#include <algorithm>

#include "diag/json.h"
#include "diag/json_fields.h"
#include "diag/text.h"
#include "lock/value.h"

namespace redlock::diag {

namespace {

constexpr std::size_t kMostName = 64;  // twice that in JSON, at worst

std::optional<Revocation> read_note(std::string_view text) {
  const auto note = JsonFields::read(text);
  if (!note) return std::nullopt;
  Revocation revocation;
  revocation.host = note->text("host");
  revocation.user = note->text("user");
  revocation.pid = note->number("pid").value_or(0);
  revocation.since = note->time("since").value_or(std::chrono::milliseconds::zero());
  return revocation;
}

}  // namespace

std::string revoked_value(std::string_view token, const Revocation& revocation) {
  JsonRecord note;
  note.add("host", printable(revocation.host, kMostName));
  note.add("pid", revocation.pid);
  note.add("since", revocation.since.count());
  note.add("user", printable(revocation.user, kMostName));
  return fmt::format("revoked:{} {}", token, note.object());
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
