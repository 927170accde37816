// SPDX-License-Identifier: MIT
#include "redis/requests/command.h"

#include <algorithm>

#include "redis/requests/keys.h"
#include "redis/wire/resp.h"

namespace redlock::redis {
namespace {

using Views = std::vector<std::string_view>;

bool goes_by_hash(const Command& command) {
  return command.script != nullptr && !command.script->sha1[0].empty();
}

/// A server that was stopped reads 16 KiB when it wakes. An acquire must fit, and a mark and a
/// leave after it: in full, a long one does without more_keys. The next acquire goes by its hash.
bool is_long(const Command& command) {
  std::size_t size = command.script->text.size();
  for (const auto* const part : {&command.words, &command.keys, &command.more_keys}) {
    for (const std::string& each : *part) size += each.size();
  }
  return size > 10'752;
}

void render_script(const Command& command, const Flight& flight, bool cluster, std::string& wire) {
  const Script& script = *command.script;
  const bool sharded = cluster && script.sends;
  const bool redisson = !flight.redisson_key.empty() && !command.keys.empty() &&
                        command.keys.front() == flight.redisson_key;
  std::string text;
  if (redisson) text.append(scripts::redisson.text).append("\n");
  if (sharded) text.append(scripts::sharded.text).append("\n");
  const bool by_hash = flight.by_hash && goes_by_hash(command);
  std::vector<std::string> more = command.more_keys;
  if (redisson) more.push_back(redisson_queue(flight.redisson_key));
  if (flight.undeclared || (!by_hash && is_long(command))) more.clear();
  const std::string count = std::to_string(command.keys.size() + more.size());
  Views words{by_hash ? "EVALSHA" : "EVAL", script.text, count};
  if (by_hash) {
    words[1] = script.sha1[(redisson ? 2 : 0) + (sharded ? 1 : 0)];
  } else if (!text.empty()) {
    words[1] = text.append(script.text);
  }
  words.insert(words.end(), command.keys.begin(), command.keys.end());
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), command.words.begin(), command.words.end());
  append_command(wire, words);
}

}  // namespace

bool Flight::hashed(std::size_t reply) const {
  return by_hash && !asking && reply < commands.size() && goes_by_hash(commands[reply]);
}

bool Flight::declares_more(std::size_t reply) const {
  if (undeclared || asking || reply >= commands.size()) return false;
  return !commands[reply].more_keys.empty() ||
         (commands[reply].script != nullptr && !redisson_key.empty());
}

bool Flight::awaits_last() const {
  return waits || (by_hash && answer_at + 1 < commands.size() &&
                   std::ranges::any_of(commands, goes_by_hash));
}

std::string render(const Flight& flight, bool cluster) {
  std::string wire;
  for (const Command& command : flight.commands) {
    if (flight.asking) append_command(wire, Views{"ASKING"});
    if (command.script != nullptr) {
      render_script(command, flight, cluster, wire);
    } else if (cluster && command.words.front() == "PUBLISH") {
      render_script(
          {&scripts::publish, command.keys, {command.words.begin() + 1, command.words.end()}},
          flight, cluster, wire);
    } else {
      append_command(wire, Views(command.words.begin(), command.words.end()));
    }
  }
  return wire;
}

}  // namespace redlock::redis
