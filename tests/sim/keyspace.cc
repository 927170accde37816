// SPDX-License-Identifier: MIT
#include "keyspace.h"

namespace redlock::sim {

using Key = Keyspace::Key;
using ReplyKind = CommandReply::Kind;

void Keyspace::clear() {
  for (Key& each : keys_) each.type = Type::none;
}

void Keyspace::expire(std::int64_t now_ms) {
  for (Key& each : keys_) {
    if (each.expires_ms != 0 && now_ms > each.expires_ms) each.type = Type::none;
  }
}

Key& Keyspace::put(std::string_view name, Type type, std::string_view text,
                   std::int64_t expires_ms) {
  Key& key = make(name, type);
  key.text = text;
  key.expires_ms = expires_ms;
  return key;
}

bool Keyspace::remove(std::string_view name) {
  Key* const key = find(name);
  if (key != nullptr) key->type = Type::none;
  return key != nullptr;
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

Key* Keyspace::find(std::string_view name, Type type) {
  Key* const key = find(name);
  if (key == nullptr || key->type == type) return key;
  fail("WRONGTYPE Operation against a key holding the wrong kind of value");
  return nullptr;
}

Key* Keyspace::find_or_make(std::string_view name, Type type) {
  Key* const key = find(name, type);
  return key == nullptr && reply_.kind != ReplyKind::error ? &make(name, type) : key;
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

void Keyspace::fail(std::string_view text) {
  reply_.kind = ReplyKind::error;
  reply_.text = text;
}

bool Keyspace::reply(ReplyKind kind) {
  if (reply_.kind == ReplyKind::error) return false;
  reply_.kind = kind;
  return true;
}

void Keyspace::integer(std::int64_t number) {
  if (reply(ReplyKind::integer)) reply_.integer = number;
}

void Keyspace::text(std::string_view text) {
  if (reply(ReplyKind::text)) reply_.text = text;
}

void Keyspace::status(std::string_view text) {
  if (reply(ReplyKind::status)) reply_.text = text;
}

std::vector<std::string_view>& Keyspace::begin_list(std::size_t made) {
  reply(ReplyKind::list);
  reply_.list.clear();
  made_.reserve(made);
  return reply_.list;
}

}  // namespace redlock::sim
