// SPDX-License-Identifier: MIT
//
// The keys of a Redis server in memory, and the commands that redlock's scripts use: what
// https://redis.io/docs/latest/commands/ says of them. redlock_command_check compares them with a
// real server. Absent on purpose: streams (no decision depends on the log), memory limits, and the
// scripts, which are redlock's own (interpreter.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::sim {

using Words = std::span<const std::string_view>;

/// The reply to a command. The texts are valid until the next command.
struct CommandReply {
  enum class Kind : std::uint8_t { nil, integer, text, status, error, list };
  Kind kind = Kind::nil;
  std::int64_t integer = 0;
  std::string_view text{};
  std::vector<std::string_view> list{};  ///< an element without data is nil
};

class Keyspace {
 public:
  enum class Type : std::uint8_t { none, string, hash, zset, list };
  struct Member {
    double score;
    std::string name;
  };
  struct Key {
    std::string name;
    Type type = Type::none;
    std::int64_t expires_ms = 0;  ///< 0: never
    std::string text;
    std::map<std::string, std::string, std::less<>> fields{};
    std::vector<Member> members{};  ///< by score, then by name

    auto find_member(std::string_view member) {
      return std::ranges::find(members, member, &Member::name);
    }
  };
  /// What INFO says.
  struct Identity {
    std::string run_id;
    std::int64_t started_ms = 0;
  };
  /// PUBLISH: how many hear it.
  using Publish = std::function<std::size_t(std::string_view channel, std::string_view message)>;

  Identity identity;
  Publish publish = [](std::string_view, std::string_view) { return std::size_t{0}; };

  /// From here on the clock shows this. A script sees one time from its beginning to its end.
  void set_now(std::int64_t now_ms) { now_ms_ = now_ms; }
  [[nodiscard]] std::int64_t now() const { return now_ms_; }

  /// In commands.cc.
  const CommandReply& run(Words words);

  /// What another program or a fault does.
  void clear();
  /// Deletes all keys that have expired, as Redis does in less than a second.
  void expire(std::int64_t now_ms);
  Key& put(std::string_view name, Type type, std::string_view text, std::int64_t expires_ms);
  /// False: there is none.
  bool remove(std::string_view name);

  /// As it is at that time of its clock. Null: no such key.
  [[nodiscard]] const Key* look(std::string_view name, std::int64_t now_ms) const;
  [[nodiscard]] const std::vector<Key>& keys() const { return keys_; }
  void set_keys(const std::vector<Key>& keys) { keys_ = keys; }

  // For the commands. After a failure the reply stays as it is.

  Key* find(std::string_view name);
  /// Null: there is none, or there is one of another type, which is a failure.
  Key* find(std::string_view name, Type type);
  /// Null: there is one of another type, which is a failure.
  Key* find_or_make(std::string_view name, Type type);
  void fail(std::string_view text);
  void integer(std::int64_t number);
  void text(std::string_view text);
  void status(std::string_view text);
  /// To append to, with room for this many new texts.
  std::vector<std::string_view>& begin_list(std::size_t made = 0);
  /// Keeps a text for the reply.
  const std::string& made(std::string text) { return made_.emplace_back(std::move(text)); }

 private:
  Key& make(std::string_view name, Type type);
  bool reply(CommandReply::Kind kind);

  std::int64_t now_ms_ = 0;
  std::vector<Key> keys_;  ///< one that is not there has the type none, and keeps its memory
  CommandReply reply_;
  std::vector<std::string> made_;
};

}  // namespace redlock::sim
