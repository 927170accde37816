// SPDX-License-Identifier: MIT
//
// The keys of a Redis server in memory, and the commands that redlock's scripts use: what
// https://redis.io/docs/latest/commands/ says of them. redlock_command_check compares them with a real
// server. Absent on purpose: streams (no decision depends on the log), memory limits, and the scripts,
// which are redlock's own (interpreter.h).
#pragma once

#include <cstdint>
#include <functional>
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
    std::vector<std::pair<std::string, std::string>> fields{};  ///< by name
    std::vector<Member> members{};                              ///< by score, then by name
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
  /// Commands that the user may not call: the server refuses them with NOPERM.
  std::vector<std::string> denied;

  /// From here on the clock shows this. A script sees one time from its beginning to its end.
  void set_now(std::int64_t now_ms) { now_ms_ = now_ms; }
  [[nodiscard]] std::int64_t now() const { return now_ms_; }

  const CommandReply& run(Words words);

  /// What another program or a fault does.
  void clear();
  void put(std::string_view name, Type type, std::string_view text, std::int64_t expires_ms);
  void put_field(std::string_view name, std::string_view field, std::string_view value);
  void remove(std::string_view name);

  /// As it is at that time of its clock. Null: no such key.
  [[nodiscard]] const Key* look(std::string_view name, std::int64_t now_ms) const;
  [[nodiscard]] const std::vector<Key>& keys() const { return keys_; }
  void set_keys(const std::vector<Key>& keys) { keys_ = keys; }

 private:
  using Command = void (Keyspace::*)(Words);
  struct Named;
  static const Named kCommands[];

  Key* find(std::string_view name);
  Key* find(std::string_view name, Type type);
  Key& make(std::string_view name, Type type);
  void drop_if_empty(Key& key);
  void fail(std::string_view text);
  void integer(std::int64_t number);
  void text(std::string_view text);
  void text_or_nil(const std::string* text);
  void begin_list();
  void list_members(const Key* key, std::size_t from, std::size_t to, bool scores);

  void get(Words words);
  void set(Words words);
  void del(Words words);
  void type(Words words);
  void strlen(Words words);
  void getrange(Words words);
  void pttl(Words words);
  void pexpire(Words words);
  void hget(Words words);
  void hmget(Words words);
  void hset(Words words);
  void hdel(Words words);
  void hstrlen(Words words);
  void zadd(Words words);
  void zrem(Words words);
  void zscore(Words words);
  void zrank(Words words);
  void zcard(Words words);
  void zrange(Words words);
  void zrangebyscore(Words words);
  void publish_message(Words words);
  void time(Words words);
  void info(Words words);

  std::int64_t now_ms_ = 0;
  std::vector<Key> keys_;  ///< one that is not there has the type none, and keeps its memory
  CommandReply reply_;
  std::string scratch_;
  std::vector<std::string> numbers_;
};

/// As Redis shows a number.
std::string show_number(double number);

}  // namespace redlock::sim
