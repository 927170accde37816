// SPDX-License-Identifier: MIT
//
// The commands of a simulated server, as far as scripts use them.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "keyspace.h"

namespace redlock::sim {

using Key = Keyspace::Key;
using Member = Keyspace::Member;
using Type = Keyspace::Type;

namespace {

constexpr std::string_view kSyntax = "ERR syntax error";
constexpr std::string_view kNotInteger = "ERR value is not an integer or out of range";
constexpr std::string_view kNotFloat = "ERR value is not a valid float";
constexpr std::size_t kEnd = std::numeric_limits<std::size_t>::max();

bool is_word(std::string_view text, std::string_view upper) {
  return std::ranges::equal(text, upper, [](char a, char b) {
    return a == b || (a >= 'a' && a <= 'z' && a - 'a' + 'A' == b);
  });
}

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> read_integer(std::string_view text) {
  return read_number<std::int64_t>(text);
}

std::optional<double> read_double(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto number = read_number<double>(text);
  return number && std::isnan(*number) ? std::nullopt : number;
}

/// Of a range as Redis counts, from the end if negative. False: it is empty.
bool cut_range(std::int64_t& from, std::int64_t& to, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  if (from < 0) from = std::max<std::int64_t>(from + length, 0);
  if (to < 0) to = std::max<std::int64_t>(to + length, -1);
  to = std::min(to, length - 1);
  return from <= to;
}

struct Limit {
  double score;
  bool open;
};
std::optional<Limit> read_limit(std::string_view text) {
  const bool open = text.starts_with('(');
  if (open) text.remove_prefix(1);
  const auto score = read_double(text);
  if (!score) return std::nullopt;
  return Limit{*score, open};
}

std::string show_number(double number) {
  char text[40];
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  if (std::abs(number) < 1e17 && number == std::trunc(number)) {
    const auto end = std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(number)).ptr;
    return {text, end};
  }
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.17g", number))};
}

const std::string* value_of(const Key* key, std::string_view field) {
  if (key == nullptr) return nullptr;
  const auto found = key->fields.find(field);
  return found == key->fields.end() ? nullptr : &found->second;
}

std::int64_t size_of(const auto* container) {
  return container == nullptr ? 0 : static_cast<std::int64_t>(container->size());
}

void get(Keyspace& keys, Words words) {
  const Key* key = keys.find(words[1], Type::string);
  if (key != nullptr) keys.text(key->text);
}

void set(Keyspace& keys, Words words) {
  bool only_new = false;
  std::int64_t expires = 0;
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (is_word(words[i], "NX")) {
      only_new = true;
    } else if (is_word(words[i], "PX") && i + 1 < words.size() && expires == 0) {
      const auto life = read_integer(words[++i]);
      if (!life) return keys.fail(kNotInteger);
      if (*life <= 0) return keys.fail("ERR invalid expire time in 'set' command");
      expires = keys.now() + *life;
    } else {
      return keys.fail(kSyntax);
    }
  }
  if (only_new && keys.find(words[1]) != nullptr) return;
  keys.put(words[1], Type::string, words[2], expires);
  keys.status("OK");
}

void del(Keyspace& keys, Words words) {
  std::int64_t deleted = 0;
  for (const std::string_view name : words.subspan(1)) deleted += keys.remove(name) ? 1 : 0;
  keys.integer(deleted);
}

void type(Keyspace& keys, Words words) {
  constexpr std::string_view kNames[] = {"none", "string", "hash", "zset", "list"};
  const Key* key = keys.find(words[1]);
  keys.status(kNames[static_cast<std::size_t>(key == nullptr ? Type::none : key->type)]);
}

void strlen(Keyspace& keys, Words words) {
  const Key* key = keys.find(words[1], Type::string);
  keys.integer(size_of(key == nullptr ? nullptr : &key->text));
}

void getrange(Keyspace& keys, Words words) {
  auto from = read_integer(words[2]);
  auto to = read_integer(words[3]);
  if (!from || !to) return keys.fail(kNotInteger);
  const Key* key = keys.find(words[1], Type::string);
  const bool backwards = *from < 0 && *to < 0 && *from > *to;
  // An end before the text is its first byte, unlike in a sorted set.
  if (key != nullptr && *to < 0) *to = std::max<std::int64_t>(*to + size_of(&key->text), 0);
  const bool some = key != nullptr && !backwards && cut_range(*from, *to, key->text.size());
  keys.text(some ? std::string_view(key->text).substr(static_cast<std::size_t>(*from),
                                                      static_cast<std::size_t>(*to - *from + 1))
                 : std::string_view());
}

void pttl(Keyspace& keys, Words words) {
  const Key* key = keys.find(words[1]);
  keys.integer(key == nullptr ? -2 : key->expires_ms == 0 ? -1 : key->expires_ms - keys.now());
}

void pexpire(Keyspace& keys, Words words) {
  const auto life = read_integer(words[2]);
  if (!life) return keys.fail(kNotInteger);
  Key* const key = keys.find(words[1]);
  if (key != nullptr && *life > 0) key->expires_ms = keys.now() + *life;
  if (key != nullptr && *life <= 0) key->type = Type::none;
  keys.integer(key != nullptr ? 1 : 0);
}

void hget(Keyspace& keys, Words words) {
  const std::string* value = value_of(keys.find(words[1], Type::hash), words[2]);
  if (value != nullptr) keys.text(*value);
}

void hmget(Keyspace& keys, Words words) {
  const Key* key = keys.find(words[1], Type::hash);
  std::vector<std::string_view>& list = keys.begin_list();
  for (const std::string_view field : words.subspan(2)) {
    const std::string* value = value_of(key, field);
    list.push_back(value == nullptr ? std::string_view() : std::string_view(*value));
  }
}

void hset(Keyspace& keys, Words words) {
  if (words.size() % 2 != 0) return keys.fail("ERR wrong number of arguments for 'hset' command");
  Key* const key = keys.find_or_make(words[1], Type::hash);
  if (key == nullptr) return;
  const std::int64_t before = size_of(&key->fields);
  for (std::size_t i = 2; i < words.size(); i += 2)
    key->fields[std::string(words[i])] = words[i + 1];
  keys.integer(size_of(&key->fields) - before);
}

void hdel(Keyspace& keys, Words words) {
  Key* const key = keys.find(words[1], Type::hash);
  if (key == nullptr) return keys.integer(0);
  std::int64_t deleted = 0;
  for (const std::string_view field : words.subspan(2)) {
    deleted += static_cast<std::int64_t>(key->fields.erase(std::string(field)));
  }
  if (key->fields.empty()) key->type = Type::none;
  keys.integer(deleted);
}

void hstrlen(Keyspace& keys, Words words) {
  keys.integer(size_of(value_of(keys.find(words[1], Type::hash), words[2])));
}

/// No script adds several members.
void zadd(Keyspace& keys, Words words) {
  const bool only_new = is_word(words[2], "NX");
  const bool only_known = is_word(words[2], "XX");
  const Words pair = words.subspan(only_new || only_known ? 3 : 2);
  if (pair.size() != 2) return keys.fail(kSyntax);
  const auto score = read_double(pair[0]);
  if (!score) return keys.fail(kNotFloat);
  if (only_known && keys.find(words[1]) == nullptr) return keys.integer(0);
  Key* const key = keys.find_or_make(words[1], Type::zset);
  if (key == nullptr) return;
  const auto known = key->find_member(pair[1]);
  const bool is_new = known == key->members.end();
  if (is_new ? only_known : only_new || known->score == *score) return keys.integer(0);
  if (!is_new) key->members.erase(known);
  const auto place = std::ranges::partition_point(key->members, [&](const Member& each) {
    return each.score != *score ? each.score < *score : each.name < pair[1];
  });
  key->members.insert(place, {*score, std::string(pair[1])});
  keys.integer(is_new ? 1 : 0);
}

void zrem(Keyspace& keys, Words words) {
  Key* const key = keys.find(words[1], Type::zset);
  if (key == nullptr) return keys.integer(0);
  std::int64_t removed = 0;
  for (const std::string_view name : words.subspan(2)) {
    const auto known = key->find_member(name);
    if (known == key->members.end()) continue;
    key->members.erase(known);
    ++removed;
  }
  if (key->members.empty()) key->type = Type::none;
  keys.integer(removed);
}

void zscore(Keyspace& keys, Words words) {
  Key* const key = keys.find(words[1], Type::zset);
  if (key == nullptr) return;
  const auto known = key->find_member(words[2]);
  if (known != key->members.end()) keys.text(keys.made(show_number(known->score)));
}

void zrank(Keyspace& keys, Words words) {
  Key* const key = keys.find(words[1], Type::zset);
  if (key == nullptr) return;
  const auto known = key->find_member(words[2]);
  if (known != key->members.end()) keys.integer(known - key->members.begin());
}

void zcard(Keyspace& keys, Words words) {
  const Key* key = keys.find(words[1], Type::zset);
  keys.integer(size_of(key == nullptr ? nullptr : &key->members));
}

/// The texts of numbers must not move.
void list_members(Keyspace& keys, std::span<const Member> members, bool scores) {
  std::vector<std::string_view>& list = keys.begin_list(members.size());
  for (const Member& each : members) {
    list.emplace_back(each.name);
    if (scores) list.emplace_back(keys.made(show_number(each.score)));
  }
}

void zrange(Keyspace& keys, Words words) {
  auto from = read_integer(words[2]);
  auto to = read_integer(words[3]);
  if (!from || !to) return keys.fail(kNotInteger);
  if (words.size() == 5 && !is_word(words[4], "WITHSCORES")) return keys.fail(kSyntax);
  const Key* key = keys.find(words[1], Type::zset);
  std::span<const Member> some;
  if (key != nullptr && cut_range(*from, *to, key->members.size())) {
    some = std::span(key->members)
               .subspan(static_cast<std::size_t>(*from), static_cast<std::size_t>(*to - *from + 1));
  }
  list_members(keys, some, words.size() == 5);
}

void zrangebyscore(Keyspace& keys, Words words) {
  bool scores = false;
  std::int64_t offset = 0;
  std::int64_t count = -1;
  for (std::size_t i = 4; i < words.size(); ++i) {
    if (is_word(words[i], "WITHSCORES")) {
      scores = true;
    } else if (is_word(words[i], "LIMIT") && i + 2 < words.size()) {
      const auto first = read_integer(words[++i]);
      const auto most = read_integer(words[++i]);
      if (!first || !most) return keys.fail(kNotInteger);
      offset = *first;
      count = *most;
    } else {
      return keys.fail(kSyntax);
    }
  }
  const auto least = read_limit(words[2]);
  const auto most = read_limit(words[3]);
  if (!least || !most) return keys.fail("ERR min or max is not a float");
  const Key* key = keys.find(words[1], Type::zset);
  std::span<const Member> some;
  if (key != nullptr && offset >= 0) {
    const auto begin = std::ranges::partition_point(key->members, [&](const Member& each) {
      return least->open ? each.score <= least->score : each.score < least->score;
    });
    const auto end = std::partition_point(begin, key->members.end(), [&](const Member& each) {
      return most->open ? each.score < most->score : each.score <= most->score;
    });
    some = std::span(begin, end);
    some = some.subspan(std::min(static_cast<std::size_t>(offset), some.size()));
    if (count >= 0) some = some.first(std::min(static_cast<std::size_t>(count), some.size()));
  }
  list_members(keys, some, scores);
}

void publish(Keyspace& keys, Words words) {
  keys.integer(static_cast<std::int64_t>(keys.publish(words[1], words[2])));
}

void time(Keyspace& keys, Words) {
  std::vector<std::string_view>& list = keys.begin_list(2);
  list.emplace_back(keys.made(std::to_string(keys.now() / 1000)));
  list.emplace_back(keys.made(std::to_string(keys.now() % 1000 * 1000)));
}

void info(Keyspace& keys, Words words) {
  if (words.size() == 1 || !is_word(words[1], "SERVER")) return keys.text("role:master\r\n");
  const Keyspace::Identity& identity = keys.identity;
  const std::int64_t uptime = keys.now() / 1000 - identity.started_ms / 1000;
  keys.text(
      keys.made("run_id:" + identity.run_id + "\r\nuptime_in_seconds:" + std::to_string(uptime)));
}

constexpr std::uint64_t code_of(std::string_view name) {
  std::uint64_t code = name.size();
  for (const char c : name.substr(0, 8)) code = code << 7U ^ static_cast<unsigned char>(c);
  return code;
}

struct Command {
  std::string_view name;
  void (*run)(Keyspace& keys, Words words);
  std::size_t least;  ///< words
  std::size_t most = kEnd;
  std::uint64_t code = code_of(name);
};

constexpr Command kCommands[] = {
    {"ZADD", zadd, 4},
    {"HSET", hset, 4},
    {"TYPE", type, 2, 2},
    {"PTTL", pttl, 2, 2},
    {"HGET", hget, 3, 3},
    {"HDEL", hdel, 3},
    {"HSTRLEN", hstrlen, 3, 3},
    {"STRLEN", strlen, 2, 2},
    {"GET", get, 2, 2},
    {"ZCARD", zcard, 2, 2},
    {"TIME", time, 1, 1},
    {"INFO", info, 1, 2},
    {"HMGET", hmget, 3},
    {"PEXPIRE", pexpire, 3, 3},
    {"ZRANGEBYSCORE", zrangebyscore, 4},
    {"ZRANGE", zrange, 4, 5},
    {"ZSCORE", zscore, 3, 3},
    {"SET", set, 3},
    {"DEL", del, 2},
    {"UNLINK", del, 2},
    {"GETRANGE", getrange, 4, 4},
    {"PUBLISH", publish, 3, 3},
    {"ZREM", zrem, 3},
    {"ZRANK", zrank, 3, 3},
    {"SPUBLISH", publish, 3, 3},
};

}  // namespace

const CommandReply& Keyspace::run(Words words) {
  reply_.kind = CommandReply::Kind::nil;
  made_.clear();
  const std::uint64_t code = code_of(words.front());
  const auto* const known = std::ranges::find(kCommands, code, &Command::code);
  if (known == std::end(kCommands)) {
    fail("ERR unknown command");
  } else if (words.size() < known->least || words.size() > known->most) {
    fail("ERR wrong number of arguments");
  } else {
    known->run(*this, words);
  }
  return reply_;
}

}  // namespace redlock::sim
