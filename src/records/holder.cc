// SPDX-License-Identifier: MIT
#include "records/holder.h"

#include "os/clock.h"
#include "os/printable.h"
#include "records/json.h"
#include "records/json_fields.h"

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
  if (!object) return std::nullopt;
  return Holder{.host = object->text("host"),
                .user = object->text("user"),
                .pid = object->number("pid").value_or(0),
                .command = object->text("command"),
                .message = object->text("message"),
                .maintenance = object->number("maintenance") == 1,
                .shared = object->number("shared") == 1,
                .unattended = object->number("unattended") == 1,
                .since = object->time("since").value_or(std::chrono::milliseconds::zero()),
                .ttl = object->time("ttl").value_or(std::chrono::milliseconds::zero()),
                .servers = object->text("servers"),
                .protocol = object->number("protocol").value_or(0)};
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

}  // namespace redlock::records
