// SPDX-License-Identifier: MIT
#include "records/log_entry.h"

#include "os/printable.h"
#include "records/json.h"

namespace redlock::records {

namespace {

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
