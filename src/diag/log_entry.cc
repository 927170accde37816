// SPDX-License-Identifier: MIT
#include "diag/log_entry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "diag/json_fields.h"
#include "diag/json_writer.h"

namespace redlock::diag {

namespace {

using nlohmann::json;
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
                 .held = std::nullopt,
                 .status = log.status,
                 .reason = std::string(reason_of(log))};
  if (log.held) entry.held = std::chrono::floor<milliseconds>(*log.held);
  return entry;
}

std::string to_json(const LogEntry& entry) {
  JsonWriter line;
  line.add("command", clip(entry.who.command, kMostCommandBytes));
  if (entry.fence > 0) line.add("fence", entry.fence);
  if (entry.held) line.add("held", entry.held->count());
  line.add("host", entry.who.host);
  line.add("pid", entry.who.pid);
  if (!entry.reason.empty()) line.add("reason", entry.reason);
  if (entry.status) line.add("status", *entry.status);
  line.add("user", entry.who.user);
  if (entry.waited) line.add("waited", entry.waited->count());
  return line.object();
}

std::optional<LogEntry> read_log_entry(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  LogEntry entry{.who = {.host = text_of(object, "host"),
                         .user = text_of(object, "user"),
                         .pid = number_of(object, "pid").value_or(0),
                         .command = text_of(object, "command"),
                         .since = {},
                         .ttl = {},
                         .servers = {}},
                 .fence = 0,
                 .waited = time_of(object, "waited"),
                 .held = time_of(object, "held"),
                 .status = std::nullopt,
                 .reason = text_of(object, "reason")};
  const auto fence = number_of(object, "fence");
  if (fence && *fence > 0) entry.fence = static_cast<std::uint64_t>(*fence);
  const auto status = number_of(object, "status");
  if (status && *status >= 0 && *status <= 255) entry.status = static_cast<int>(*status);
  return entry;
}

}  // namespace redlock::diag
