// SPDX-License-Identifier: MIT
#include "records/holder.h"

#include "lock/value.h"
#include "os/clock.h"
#include "os/printable.h"
#include "records/json.h"

namespace redlock::records {

namespace {

/// Quotes a word so that a shell reads it as one word.
std::string as_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "%+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
      "abcdefghijklmnopqrstuvwxyz";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      quoted += R"('\'')";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

}  // namespace

std::string to_json(const Holder& holder) {
  JsonRecord json;
  json.add("command", holder.command);
  json.add("host", holder.host);
  if (holder.maintenance) json.add("maintenance", 1);
  if (!holder.message.empty()) json.add("message", holder.message);
  json.add("pid", holder.pid);
  json.add("protocol", holder.protocol);
  json.add("servers", holder.servers);
  if (holder.shared) json.add("shared", 1);
  json.add("since", holder.since.count());
  json.add("ttl", holder.ttl.count());
  if (holder.unattended) json.add("unattended", 1);
  json.add("user", holder.user);
  return json.object();
}

Holder since_now(Holder holder) {
  holder.since = os::unix_now();
  return holder;
}

std::optional<Holder> read_holder(std::string_view json) {
  const auto object = JsonFields::read(json);
  return object ? std::optional(holder_in(*object)) : std::nullopt;
}

Holder holder_in(const JsonFields& fields) {
  return {.host = fields.text("host"),
          .user = fields.text("user"),
          .pid = fields.number("pid").value_or(0),
          .command = fields.text("command"),
          .message = fields.text("message"),
          .maintenance = fields.number("maintenance") == 1,
          .shared = fields.number("shared") == 1,
          .unattended = fields.number("unattended") == 1,
          .since = fields.time("since").value_or(std::chrono::milliseconds::zero()),
          .ttl = fields.time("ttl").value_or(std::chrono::milliseconds::zero()),
          .servers = fields.text("servers"),
          .protocol = fields.number("protocol").value_or(0)};
}

std::string as_message(std::string_view text) {
  std::string line;
  for (const char letter : text) {
    const bool blank = letter == ' ' || (letter >= '\t' && letter <= '\r');
    if (!blank) {
      line += letter;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (line.ends_with(' ')) line.pop_back();
  return os::printable(line, kMostMessageBytes - 3);
}

std::string shell_like(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    line += as_word(word);
    if (line.size() > kMostCommandBytes)
      return std::string(os::clip(line, kMostCommandBytes)) + "...";
  }
  return line;
}

std::string revoked_value(std::string_view token, const Holder& by) {
  constexpr std::size_t kMostName = 64;  // twice that in JSON, at worst
  JsonRecord note;
  note.add("host", os::printable(by.host, kMostName));
  note.add("pid", by.pid);
  note.add("since", by.since.count());
  note.add("user", os::printable(by.user, kMostName));
  std::string value = "revoked:";
  return value.append(token).append(" ").append(note.object());
}

std::optional<Holder> read_revocation(std::string_view value) {
  const lock::Value parts = lock::read_value(value);
  return parts.kind == lock::Value::Kind::revoked ? read_holder(parts.note) : std::nullopt;
}

std::optional<Holder> revocation_in_notice(std::string_view text) {
  constexpr std::string_view kRevoked = "revoked ";
  return text.starts_with(kRevoked) ? read_holder(text.substr(kRevoked.size())) : std::nullopt;
}

}  // namespace redlock::records
