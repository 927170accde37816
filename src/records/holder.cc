// SPDX-License-Identifier: MIT
#include "records/holder.h"

#include <sstream>

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
  for (const char& letter : word) {
    quoted += letter == '\'' ? R"('\'')" : std::string_view(&letter, 1);
  }
  return quoted + "'";
}

using std::chrono::milliseconds;

std::string_view reason_of(const lock::Log& log) {
  if (!log.stopped) return log.event == lock::Log::Event::lost ? "not ours when the job ended" : "";
  switch (*log.stopped) {
    case lock::StopReason::lost:
      return "lost";
    case lock::StopReason::lease_ending:
      return "could not be renewed";
    case lock::StopReason::max_runtime:
      return "--max-runtime";
    case lock::StopReason::supervisor_gone:
      return "redlock was killed";
  }
  return "";
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
  std::istringstream words{std::string(text)};
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
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

std::string_view word_for(lock::Log::Event event) {
  switch (event) {
    case lock::Log::Event::acquired:
      return "acquired";
    case lock::Log::Event::released:
      return "released";
    case lock::Log::Event::lost:
      return "lost";
    case lock::Log::Event::skipped:
      return "skipped";
  }
  return "";
}

LogEntry log_entry(const lock::Log& log, const Holder& who) {
  LogEntry entry{.who = who,
                 .fence = log.fence,
                 .waited = std::chrono::floor<milliseconds>(log.waited),
                 .status = log.status,
                 .reason = std::string(reason_of(log))};
  if (log.held) entry.held = std::chrono::floor<milliseconds>(*log.held);
  return entry;
}

std::string to_json(const LogEntry& entry) {
  JsonRecord line;
  line.add("command", os::clip(entry.who.command, kMostCommandBytes));
  if (entry.fence > 0) line.add("fence", entry.fence);
  if (entry.held) line.add("held", entry.held->count());
  line.add("host", entry.who.host);
  if (entry.who.maintenance) line.add("maintenance", 1);
  if (!entry.who.message.empty()) {
    line.add("message", os::printable(entry.who.message, kMostMessageBytes));
  }
  line.add("pid", entry.who.pid);
  if (!entry.reason.empty()) line.add("reason", entry.reason);
  if (entry.who.shared) line.add("shared", 1);
  if (entry.status) line.add("status", *entry.status);
  if (entry.who.maintenance) line.add("ttl", entry.who.ttl.count());
  if (entry.who.unattended) line.add("unattended", 1);
  line.add("user", entry.who.user);
  if (entry.waited) line.add("waited", entry.waited->count());
  return line.object();
}

std::optional<LogEntry> read_log_entry(std::string_view text) {
  const auto object = JsonFields::read(text);
  if (!object) return std::nullopt;
  LogEntry entry{.who = holder_in(*object),
                 .waited = object->time("waited"),
                 .held = object->time("held"),
                 .reason = object->text("reason")};
  const auto fence = object->number("fence");
  if (fence && *fence > 0) entry.fence = static_cast<std::uint64_t>(*fence);
  const auto status = object->number("status");
  if (status && *status >= 0 && *status <= 255) entry.status = static_cast<int>(*status);
  return entry;
}

}  // namespace redlock::records
