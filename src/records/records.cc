// SPDX-License-Identifier: MIT
//
// The only file that includes nlohmann/json.hpp, which takes seconds to compile.
#include "records/records.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lock/value.h"
#include "os/clock.h"
#include "os/printable.h"

namespace redlock::records {

namespace {

using std::chrono::milliseconds;
using Record = nlohmann::json;

enum class Letters { ascii, utf8 };

/// Replaces bytes that are not UTF-8.
std::string quoted(std::string_view text, Letters letters) {
  return Record(text).dump(-1, ' ', letters == Letters::ascii, Record::error_handler_t::replace);
}

/// `parts` in lines of their own, between the brackets. In texts, line breaks are escaped as \n.
std::string indented(char open, const std::vector<std::string>& parts, char close) {
  std::string out(1, open);
  for (const std::string& part : parts) {
    out += out.size() > 1 ? ",\n  " : "\n  ";
    for (const char letter : part) {
      out += letter;
      if (letter == '\n') out += "  ";
    }
  }
  if (!parts.empty()) out += '\n';
  return out + close;
}

/// Writes a flat object on one line, as servers store it. A process with a job calls it: a Record's
/// destructor allocates memory, and if there is none, it ends the process.
class Writer {
 public:
  void add(std::string_view key, std::string_view text) {
    begin(key) += quoted(text, Letters::utf8);
  }
  void add(std::string_view key, std::integral auto number) {
    begin(key) += std::to_string(number);
  }

  [[nodiscard]] std::string object() const { return "{" + text_ + "}"; }

 private:
  /// Only for keys that need no escapes.
  std::string& begin(std::string_view key) {
    text_ += text_.empty() ? "\"" : ",\"";
    return text_.append(key).append("\":");
  }

  std::string text_;
};

/// Reads an object that others have written into a server, and that may contain anything. None if
/// the text is not a JSON object. Keeps nothing nested: it may take a hundred times the memory of
/// its text.
std::optional<Record> read_record(std::string_view text) {
  const auto flat = [](int depth, Record::parse_event_t event, const Record&) {
    using Event = Record::parse_event_t;
    return depth == 0 || (event != Event::object_start && event != Event::array_start);
  };
  Record record = Record::parse(text, flat, false);
  if (!record.is_object()) return std::nullopt;
  return record;
}

/// Empty if the field is missing, or is not a text.
std::string text_in(const Record& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// None if the field is missing, or is not a whole number of 64 bits.
std::optional<std::int64_t> number_in(const Record& record, const char* key) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto found = record.find(key);
  if (found == record.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > kMost) return std::nullopt;
  return found->get<std::int64_t>();
}

/// A length, or a time since 1970: from 0 to the year 2200, so that computing with it never
/// overflows, not even in nanoseconds. None if the field is missing, or is not a whole number.
std::optional<milliseconds> time_in(const Record& record, const char* key) {
  constexpr std::int64_t kYear2200 = 7'258'118'400'000;
  const auto number = number_in(record, key);
  if (!number) return std::nullopt;
  return milliseconds(std::clamp<std::int64_t>(*number, 0, kYear2200));
}

Holder holder_in(const Record& record) {
  return {.host = text_in(record, "host"),
          .user = text_in(record, "user"),
          .pid = number_in(record, "pid").value_or(0),
          .command = text_in(record, "command"),
          .message = text_in(record, "message"),
          .build = static_cast<std::uint64_t>(
              std::max<std::int64_t>(number_in(record, "build").value_or(0), 0)),
          .maintenance = number_in(record, "maintenance") == 1,
          .shared = number_in(record, "shared") == 1,
          .unattended = number_in(record, "unattended") == 1,
          .unwarned = number_in(record, "unwarned") == 1,
          .replaces = number_in(record, "replaces") == 1,
          .since = time_in(record, "since").value_or(milliseconds::zero()),
          .ttl = time_in(record, "ttl").value_or(milliseconds::zero()),
          .list = text_in(record, "list"),
          .protocol = number_in(record, "protocol").value_or(0)};
}

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

std::string_view reason_of(const lock::Log& log) {
  if (!log.stopped) return log.event == lock::Log::Event::lost ? "not ours when the job ended" : "";
  constexpr std::string_view kInOrder[] = {
      // of lock::StopReason
      "lost", "could not be renewed", "--max-runtime", "redlock was killed"};
  static_assert(std::size(kInOrder) ==
                static_cast<std::size_t>(lock::StopReason::supervisor_gone) + 1);
  return kInOrder[static_cast<std::size_t>(*log.stopped)];
}

}  // namespace

Json::Json(double number) : text_(Record(number).dump()) {}

Json::Json(std::string_view text) : text_(quoted(text, Letters::ascii)) {}

Json Json::object(const std::vector<Member>& members) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : members) {
    parts.push_back(quoted(key, Letters::ascii) + ": " + value.text_);
  }
  Json object;
  object.text_ = indented('{', parts, '}');
  return object;
}

Json Json::array(const std::vector<Json>& elements) {
  std::vector<std::string> parts;
  for (const Json& element : elements) parts.push_back(element.text_);
  Json array;
  array.text_ = indented('[', parts, ']');
  return array;
}

std::string to_json(const Holder& holder) {
  Writer json;
  if (holder.build > 0) json.add("build", static_cast<std::int64_t>(holder.build));
  json.add("command", holder.command);
  json.add("host", holder.host);
  if (!holder.list.empty()) json.add("list", holder.list);
  if (holder.maintenance) json.add("maintenance", 1);
  if (!holder.message.empty()) json.add("message", holder.message);
  json.add("pid", holder.pid);
  json.add("protocol", holder.protocol);
  if (holder.shared) json.add("shared", 1);
  json.add("since", holder.since.count());
  json.add("ttl", holder.ttl.count());
  if (holder.unattended) json.add("unattended", 1);
  if (holder.unwarned) json.add("unwarned", 1);
  json.add("user", holder.user);
  return json.object();
}

Holder since_now(Holder holder) {
  holder.since = os::unix_now();
  return holder;
}

std::optional<Holder> read_holder(std::string_view json) {
  const auto record = read_record(json);
  return record ? std::optional(holder_in(*record)) : std::nullopt;
}

std::string as_message(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return os::printable(line, kMostMessageBytes - 3);
}

std::string shell_like(const std::vector<std::string>& argv, std::size_t most) {
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    line += as_word(word);
    if (line.size() > most) return std::string(os::clip(line, most)) + "...";
  }
  return line;
}

std::string revoked_value(std::string_view token, const Holder& by) {
  constexpr std::size_t kMostName = 64;  // twice that in JSON, at worst
  Writer note;
  note.add("host", os::printable(by.host, kMostName));
  note.add("pid", by.pid);
  if (by.replaces) note.add("replaces", 1);
  note.add("since", by.since.count());
  note.add("user", os::printable(by.user, kMostName));
  return std::string("revoked:").append(token).append(" ").append(note.object());
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
  constexpr std::string_view kInOrder[] = {
      // of lock::Log::Event
      "acquired", "released", "lost", "skipped", "superseded", "revoked"};
  static_assert(std::size(kInOrder) == static_cast<std::size_t>(lock::Log::Event::revoked) + 1);
  return kInOrder[static_cast<std::size_t>(event)];
}

LogEntry log_entry(const lock::Log& log, const Holder& who) {
  LogEntry entry{.who = who,
                 .fence = log.fence,
                 .waited = std::chrono::floor<milliseconds>(log.waited),
                 .status = log.status,
                 .reason = std::string(reason_of(log))};
  if (log.held) entry.held = std::chrono::floor<milliseconds>(*log.held);
  entry.who.replaces = log.event == lock::Log::Event::revoked;
  return entry;
}

Holder hold_after(const lock::Log& log, Holder who) {
  constexpr std::size_t kMostOfCommand = 80;
  std::string why = "exit " + std::to_string(log.status.value_or(0));
  if (const auto reason = reason_of(log); !reason.empty()) {
    why.append(" (").append(reason).append(")");
  }
  if (!who.command.empty()) {
    why.append(" of ").append(os::clip(who.command, kMostOfCommand));
    if (who.command.size() > kMostOfCommand) why += "...";
  }
  why += " by " + who.user + "@" + who.host;
  if (!who.message.empty()) why += ": " + who.message;
  who.command.clear();
  who.message = as_message(why);
  who.maintenance = true;
  who.ttl = std::chrono::ceil<milliseconds>(log.hold);
  return since_now(std::move(who));
}

std::string to_json(const LogEntry& entry) {
  const Holder& who = entry.who;
  Writer line;
  line.add("command", os::clip(who.command, kMostCommandBytes));
  if (entry.fence > 0) line.add("fence", entry.fence);
  if (entry.held) line.add("held", entry.held->count());
  line.add("host", who.host);
  if (!who.list.empty()) line.add("list", who.list);
  if (who.maintenance) line.add("maintenance", 1);
  if (!who.message.empty()) line.add("message", os::clip(who.message, kMostMessageBytes));
  line.add("pid", who.pid);
  if (!entry.reason.empty()) line.add("reason", entry.reason);
  if (who.replaces) line.add("replaces", 1);
  if (who.shared) line.add("shared", 1);
  if (entry.status) line.add("status", *entry.status);
  if (who.maintenance) line.add("ttl", who.ttl.count());
  if (who.unattended) line.add("unattended", 1);
  line.add("user", who.user);
  if (entry.waited) line.add("waited", entry.waited->count());
  return line.object();
}

std::optional<LogEntry> read_log_entry(std::string_view json) {
  const auto record = read_record(json);
  if (!record) return std::nullopt;
  LogEntry entry{.who = holder_in(*record),
                 .waited = time_in(*record, "waited"),
                 .held = time_in(*record, "held"),
                 .reason = text_in(*record, "reason")};
  const auto fence = number_in(*record, "fence");
  if (fence && *fence > 0) entry.fence = static_cast<std::uint64_t>(*fence);
  const auto status = number_in(*record, "status");
  if (status && *status >= 0 && *status <= 255) entry.status = static_cast<int>(*status);
  return entry;
}

std::string to_json(const Refused& refused) {
  Writer record;
  record.add("command", os::clip(refused.command, kMostCommandBytes));
  record.add("held_by", os::clip(refused.held_by, kMostCommandBytes));
  record.add("user", os::clip(refused.user, 64));
  return record.object();
}

std::optional<Refused> read_refused(std::string_view json) {
  const auto record = read_record(json);
  if (!record) return std::nullopt;
  return Refused{text_in(*record, "user"), text_in(*record, "command"),
                 text_in(*record, "held_by")};
}

std::string as_field(std::string_view host) {
  std::string field = os::printable(host, 64);
  std::ranges::replace(field, ' ', '?');
  return field.empty() ? "?" : field;
}

}  // namespace redlock::records
