// SPDX-License-Identifier: MIT
#include "records/revocation.h"

#include "lock/value.h"
#include "os/printable.h"
#include "records/json.h"
#include "records/json_fields.h"

namespace redlock::records {

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
  note.add("host", os::printable(revocation.host, kMostName));
  note.add("pid", revocation.pid);
  note.add("since", revocation.since.count());
  note.add("user", os::printable(revocation.user, kMostName));
  std::string value = "revoked:";
  return value.append(token).append(" ").append(note.object());
}

std::optional<Revocation> read_revocation(std::string_view value) {
  const lock::Value parts = lock::read_value(value);
  return parts.kind == lock::Value::Kind::revoked ? read_note(parts.note) : std::nullopt;
}

std::optional<Revocation> revocation_in_notice(std::string_view text) {
  constexpr std::string_view kRevoked = "revoked ";
  return text.starts_with(kRevoked) ? read_note(text.substr(kRevoked.size())) : std::nullopt;
}

}  // namespace redlock::records
