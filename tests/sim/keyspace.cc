// SPDX-License-Identifier: MIT
#include "keyspace.h"

#include <algorithm>
#include <limits>

#include "words.h"

namespace redlock::sim {

namespace {

using Key = Keyspace::Key;

constexpr std::string_view kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr std::size_t kEnd = std::numeric_limits<std::size_t>::max();

auto find_field(std::vector<std::pair<std::string, std::string>>& fields, std::string_view name) {
  return std::ranges::lower_bound(fields, name, {},
                                  [](const auto& each) { return std::string_view(each.first); });
}

const std::string* value_of(Key* key, std::string_view field) {
  if (key == nullptr) return nullptr;
  const auto found = find_field(key->fields, field);
  return found != key->fields.end() && found->first == field ? &found->second : nullptr;
}

constexpr std::uint64_t code_of(std::string_view name) {
  std::uint64_t code = name.size();
  for (const char c : name.substr(0, 8)) code = code << 7U ^ static_cast<unsigned char>(c);
  return code;
}

}  // namespace

struct Keyspace::Named {
  std::string_view name;
  Command command;
  std::size_t least;  ///< words
  std::size_t most = kEnd;
  std::uint64_t code = code_of(name);
};

const Keyspace::Named Keyspace::kCommands[] = {
    {"ZADD", &Keyspace::zadd, 4},
    {"HSET", &Keyspace::hset, 4},
    {"TYPE", &Keyspace::type, 2, 2},
    {"PTTL", &Keyspace::pttl, 2, 2},
    {"HGET", &Keyspace::hget, 3, 3},
    {"HDEL", &Keyspace::hdel, 3},
    {"HSTRLEN", &Keyspace::hstrlen, 3, 3},
    {"STRLEN", &Keyspace::strlen, 2, 2},
    {"GET", &Keyspace::get, 2, 2},
    {"ZCARD", &Keyspace::zcard, 2, 2},
    {"TIME", &Keyspace::time, 1, 1},
    {"INFO", &Keyspace::info, 1, 2},
    {"HMGET", &Keyspace::hmget, 3},
    {"PEXPIRE", &Keyspace::pexpire, 3, 3},
    {"ZRANGEBYSCORE", &Keyspace::zrangebyscore, 4},
    {"ZRANGE", &Keyspace::zrange, 4, 5},
    {"ZSCORE", &Keyspace::zscore, 3, 3},
    {"SET", &Keyspace::set, 3},
    {"DEL", &Keyspace::del, 2},
    {"UNLINK", &Keyspace::del, 2},
    {"GETRANGE", &Keyspace::getrange, 4, 4},
    {"PUBLISH", &Keyspace::publish_message, 3, 3},
    {"ZREM", &Keyspace::zrem, 3},
    {"ZRANK", &Keyspace::zrank, 3, 3},
    {"SPUBLISH", &Keyspace::publish_message, 3, 3},
};

const CommandReply& Keyspace::run(Words words) {
  reply_.kind = CommandReply::Kind::nil;
  const std::uint64_t code = code_of(words.front());
  for (const Named& each : kCommands) {
    if (each.code != code) continue;
    if (!denied.empty() && std::ranges::find(denied, each.name) != denied.end()) {
      fail("NOPERM this user has no permissions to run this command");
    } else if (words.size() < each.least || words.size() > each.most) {
      fail("ERR wrong number of arguments");
    } else {
      (this->*each.command)(words);
    }
    return reply_;
  }
  fail("ERR unknown command");
  return reply_;
}

void Keyspace::clear() {
  for (Key& each : keys_) each.type = Type::none;
}

void Keyspace::put(std::string_view name, Type type, std::string_view text,
                   std::int64_t expires_ms) {
  Key& key = make(name, type);
  key.text = text;
  key.expires_ms = expires_ms;
}

void Keyspace::put_field(std::string_view name, std::string_view field, std::string_view value) {
  Key* key = find(name);
  if (key == nullptr) key = &make(name, Type::hash);
  const auto found = find_field(key->fields, field);
  if (found != key->fields.end() && found->first == field) {
    found->second = value;
  } else {
    key->fields.emplace(found, field, value);
  }
}

void Keyspace::remove(std::string_view name) {
  if (Key* key = find(name)) key->type = Type::none;
}

const Key* Keyspace::look(std::string_view name, std::int64_t now_ms) const {
  for (const Key& each : keys_) {
    if (each.name != name) continue;
    const bool over = each.expires_ms != 0 && now_ms > each.expires_ms;
    return each.type == Type::none || over ? nullptr : &each;
  }
  return nullptr;
}

/// A key is gone once the clock shows more than its expiry.
Key* Keyspace::find(std::string_view name) {
  for (Key& each : keys_) {
    if (each.name.back() != name.back() || each.name.size() != name.size() || each.name != name)
      continue;
    if (each.expires_ms != 0 && now_ms_ > each.expires_ms) each.type = Type::none;
    return each.type == Type::none ? nullptr : &each;
  }
  return nullptr;
}

/// Null: there is none, or there is one of another type, which is an error.
Key* Keyspace::find(std::string_view name, Type type) {
  Key* const key = find(name);
  if (key == nullptr || key->type == type) return key;
  fail(kWrongType);
  return nullptr;
}

Key& Keyspace::make(std::string_view name, Type type) {
  auto key = std::ranges::find(keys_, name, &Key::name);
  if (key == keys_.end()) {
    keys_.emplace_back().name = name;
    key = std::prev(keys_.end());
  }
  key->type = type;
  key->expires_ms = 0;
  key->fields.clear();
  key->members.clear();
  return *key;
}

void Keyspace::drop_if_empty(Key& key) {
  if (key.type == Type::hash ? key.fields.empty() : key.members.empty()) key.type = Type::none;
}

void Keyspace::fail(std::string_view text) {
  reply_.kind = CommandReply::Kind::error;
  reply_.text = text;
}

void Keyspace::integer(std::int64_t number) {
  if (reply_.kind == CommandReply::Kind::error) return;
  reply_.kind = CommandReply::Kind::integer;
  reply_.integer = number;
}

void Keyspace::text(std::string_view text) {
  if (reply_.kind == CommandReply::Kind::error) return;
  reply_.kind = CommandReply::Kind::text;
  reply_.text = text;
}

void Keyspace::text_or_nil(const std::string* text) {
  if (text != nullptr) this->text(*text);
}

void Keyspace::begin_list() {
  if (reply_.kind == CommandReply::Kind::error) return;
  reply_.kind = CommandReply::Kind::list;
  reply_.list.clear();
  numbers_.clear();
}

void Keyspace::get(Words words) {
  const Key* key = find(words[1], Type::string);
  text_or_nil(key == nullptr ? nullptr : &key->text);
}

void Keyspace::set(Words words) {
  bool only_new = false;
  std::int64_t expires = 0;
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (is_word(words[i], "NX")) {
      only_new = true;
    } else if (is_word(words[i], "PX") && i + 1 < words.size() && expires == 0) {
      const auto life = read_integer(words[++i]);
      if (!life) return fail(kNotInteger);
      if (*life <= 0) return fail("ERR invalid expire time in 'set' command");
      expires = now_ms_ + *life;
    } else {
      return fail(kSyntax);
    }
  }
  if (only_new && find(words[1]) != nullptr) return;
  put(words[1], Type::string, words[2], expires);
  reply_.kind = CommandReply::Kind::status;
  reply_.text = "OK";
}

void Keyspace::del(Words words) {
  std::int64_t deleted = 0;
  for (const std::string_view name : words.subspan(1)) {
    Key* const key = find(name);
    if (key == nullptr) continue;
    key->type = Type::none;
    ++deleted;
  }
  integer(deleted);
}

void Keyspace::type(Words words) {
  constexpr std::string_view kNames[] = {"none", "string", "hash", "zset", "list"};
  const Key* key = find(words[1]);
  reply_.kind = CommandReply::Kind::status;
  reply_.text = kNames[static_cast<std::size_t>(key == nullptr ? Type::none : key->type)];
}

void Keyspace::strlen(Words words) {
  const Key* key = find(words[1], Type::string);
  integer(key == nullptr ? 0 : static_cast<std::int64_t>(key->text.size()));
}

void Keyspace::getrange(Words words) {
  auto from = read_integer(words[2]);
  auto to = read_integer(words[3]);
  if (!from || !to) return fail(kNotInteger);
  const Key* key = find(words[1], Type::string);
  const bool backwards = *from < 0 && *to < 0 && *from > *to;
  // An end before the text is its first byte, unlike in a sorted set.
  if (key != nullptr && *to < 0) {
    *to = std::max<std::int64_t>(*to + static_cast<std::int64_t>(key->text.size()), 0);
  }
  const bool some = key != nullptr && !backwards && cut_range(*from, *to, key->text.size());
  text(some ? std::string_view(key->text).substr(static_cast<std::size_t>(*from),
                                                 static_cast<std::size_t>(*to - *from + 1))
            : std::string_view());
}

void Keyspace::pttl(Words words) {
  const Key* key = find(words[1]);
  integer(key == nullptr ? -2 : key->expires_ms == 0 ? -1 : key->expires_ms - now_ms_);
}

void Keyspace::pexpire(Words words) {
  const auto life = read_integer(words[2]);
  if (!life) return fail(kNotInteger);
  Key* const key = find(words[1]);
  if (key != nullptr && *life > 0) key->expires_ms = now_ms_ + *life;
  if (key != nullptr && *life <= 0) key->type = Type::none;
  integer(key != nullptr ? 1 : 0);
}

void Keyspace::hget(Words words) {
  text_or_nil(value_of(find(words[1], Type::hash), words[2]));
}

void Keyspace::hmget(Words words) {
  Key* const key = find(words[1], Type::hash);
  begin_list();
  for (const std::string_view field : words.subspan(2)) {
    const std::string* value = value_of(key, field);
    reply_.list.push_back(value == nullptr ? std::string_view() : std::string_view(*value));
  }
}

void Keyspace::hset(Words words) {
  if (words.size() % 2 != 0) return fail("ERR wrong number of arguments for 'hset' command");
  Key* key = find(words[1], Type::hash);
  if (reply_.kind == CommandReply::Kind::error) return;
  if (key == nullptr) key = &make(words[1], Type::hash);
  const std::size_t before = key->fields.size();
  for (std::size_t i = 2; i < words.size(); i += 2) put_field(words[1], words[i], words[i + 1]);
  integer(static_cast<std::int64_t>(key->fields.size() - before));
}

void Keyspace::hdel(Words words) {
  Key* const key = find(words[1], Type::hash);
  std::int64_t deleted = 0;
  for (const std::string_view field : words.subspan(2)) {
    if (value_of(key, field) == nullptr) continue;
    key->fields.erase(find_field(key->fields, field));
    ++deleted;
  }
  if (key != nullptr) drop_if_empty(*key);
  integer(deleted);
}

void Keyspace::hstrlen(Words words) {
  const std::string* value = value_of(find(words[1], Type::hash), words[2]);
  integer(value == nullptr ? 0 : static_cast<std::int64_t>(value->size()));
}

void Keyspace::publish_message(Words words) {
  integer(static_cast<std::int64_t>(publish(words[1], words[2])));
}

void Keyspace::time(Words) {
  begin_list();
  numbers_.reserve(2);
  reply_.list.emplace_back(numbers_.emplace_back(std::to_string(now_ms_ / 1000)));
  reply_.list.emplace_back(numbers_.emplace_back(std::to_string(now_ms_ % 1000 * 1000)));
}

void Keyspace::info(Words words) {
  if (words.size() == 1 || !is_word(words[1], "SERVER")) return text("role:master\r\n");
  scratch_.assign("run_id:").append(identity.run_id).append("\r\nuptime_in_seconds:");
  text(scratch_.append(std::to_string(now_ms_ / 1000 - identity.started_ms / 1000)));
}

}  // namespace redlock::sim
