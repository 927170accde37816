// SPDX-License-Identifier: MIT
#include "interpreter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lua.hpp>
#include <stdexcept>

namespace redlock::sim {

namespace {

#if LUA_VERSION_NUM < 502
constexpr bool kDragonfly = false;
bool lua_isinteger(lua_State* lua, int index) {
  return lua_isnumber(lua, index) != 0;
}
std::size_t lua_rawlen(lua_State* lua, int index) {
  return lua_objlen(lua, index);
}
#else
// It runs the scripts with Lua 5.4. A script gets scores as numbers, and what it returns is text if
// Lua has it as a floating-point number, also a whole one.
constexpr bool kDragonfly = true;
#endif

constexpr std::size_t kMostWords = 16;
constexpr std::size_t kMemory = 64U << 20U;
constexpr std::size_t kGarbage = 2U << 20U;  // about what a processor's cache has room for

void push(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

/// A table with one field: how Lua sees a status and an error. How many values it has pushed.
int push_marked(lua_State* lua, const char* mark, std::string_view text) {
  lua_createtable(lua, 0, 1);
  push(lua, text);
  lua_setfield(lua, -2, mark);
  return 1;
}

std::string_view text_at(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, index, &size);
  return {text, size};
}

/// What a script returns, which is on the top of the stack. No list of our scripts is marked.
redis::Value read_value(lua_State* lua) {
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
      return {.type = redis::Value::Type::string, .text = std::string(text_at(lua, -1))};
    case LUA_TNUMBER:
      if (!lua_isinteger(lua, -1)) {
        return {.type = redis::Value::Type::string, .text = std::string(text_at(lua, -1))};
      }
      return {.type = redis::Value::Type::integer,
              .integer = static_cast<std::int64_t>(lua_tonumber(lua, -1))};
    case LUA_TBOOLEAN:
      if (lua_toboolean(lua, -1) == 0) return {};
      return {.type = redis::Value::Type::integer, .integer = 1};
    case LUA_TTABLE:
      break;
    default:
      return {};
  }
  lua_rawgeti(lua, -1, 1);
  const bool list = !lua_isnil(lua, -1);
  lua_pop(lua, 1);
  for (const auto& [mark, type] :
       {std::pair{"err", redis::Value::Type::error}, {"ok", redis::Value::Type::status}}) {
    if (list) break;
    lua_getfield(lua, -1, mark);
    const bool marked = lua_type(lua, -1) == LUA_TSTRING;
    redis::Value value{.type = type, .text = marked ? std::string(text_at(lua, -1)) : ""};
    lua_pop(lua, 1);
    if (marked) return value;
  }
  redis::Value value{.type = redis::Value::Type::array};
  value.elements.reserve(lua_rawlen(lua, -1));
  for (int at = 1;; ++at) {
    lua_rawgeti(lua, -1, at);
    const bool over = lua_isnil(lua, -1);
    if (!over) value.elements.push_back(read_value(lua));
    lua_pop(lua, 1);
    if (over) return value;
  }
}

/// The table stays the same, which is quicker: no script keeps it.
void set_words(lua_State* lua, int table, Words words) {
  lua_rawgeti(lua, LUA_REGISTRYINDEX, table);
  const std::size_t before = lua_rawlen(lua, -1);
  for (std::size_t i = 0; i < std::max(before, words.size()); ++i) {
    if (i < words.size()) {
      push(lua, words[i]);
    } else {
      lua_pushnil(lua);
    }
    lua_rawseti(lua, -2, static_cast<int>(i + 1));
  }
  lua_pop(lua, 1);
}

/// The reply of Dragonfly: scores are numbers in it.
void make_scores_numbers(lua_State* lua, Words words) {
  if (words[0] == "ZSCORE" && lua_type(lua, -1) == LUA_TSTRING) {
    const double score = std::strtod(lua_tostring(lua, -1), nullptr);  // inf, too
    lua_pop(lua, 1);
    lua_pushnumber(lua, score);
  } else if (lua_istable(lua, -1) && std::ranges::find(words, "WITHSCORES") != words.end()) {
    for (int at = static_cast<int>(lua_rawlen(lua, -1)); at > 0; at -= 2) {
      lua_rawgeti(lua, -1, at);
      lua_pushnumber(lua, lua_tonumber(lua, -1));
      lua_rawseti(lua, -3, at);
      lua_pop(lua, 1);
    }
  }
}

int new_global_table(lua_State* lua, const char* name) {
  lua_createtable(lua, 16, 0);
  lua_pushvalue(lua, -1);
  lua_setglobal(lua, name);
  return luaL_ref(lua, LUA_REGISTRYINDEX);
}

}  // namespace

Interpreter::Interpreter()
    : memory_(std::make_unique_for_overwrite<std::byte[]>(kMemory)),
      lua_(lua_newstate(&allocate, this)) {
  // LuaJIT before 2022 allows no such memory on x86-64.
  if (lua_ == nullptr) throw std::runtime_error("this Lua does not take our memory");
  lua_gc(lua_, LUA_GCSTOP, 0);
  for (const luaL_Reg& library :
       {luaL_Reg{"_G", luaopen_base}, luaL_Reg{"string", luaopen_string},
        luaL_Reg{"table", luaopen_table}, luaL_Reg{"math", luaopen_math}}) {
    lua_pushcfunction(lua_, library.func);
    lua_call(lua_, 0, 1);
    lua_setglobal(lua_, library.name);
  }
#ifdef LUAJIT_VERSION
  // It finds nothing to compile between that many calls of C functions, and takes long to find that
  // out.
  luaJIT_setmode(lua_, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
#endif
  lua_createtable(lua_, 0, 4);
  const luaL_Reg functions[] = {
      {"call", [](lua_State* lua) { return run_command(lua, true); }},
      {"pcall", [](lua_State* lua) { return run_command(lua, false); }},
      {"status_reply", [](lua_State* lua) { return push_marked(lua, "ok", text_at(lua, 1)); }},
      {"error_reply", [](lua_State* lua) { return push_marked(lua, "err", text_at(lua, 1)); }}};
  for (const luaL_Reg& each : functions) {
    lua_pushlightuserdata(lua_, this);
    lua_pushcclosure(lua_, each.func, 1);
    lua_setfield(lua_, -2, each.name);
  }
  lua_setglobal(lua_, "redis");
  keys_ = new_global_table(lua_, "KEYS");
  arguments_ = new_global_table(lua_, "ARGV");
  parsed_.assign(&memory_[0], &memory_[used_]);
}

void* Interpreter::allocate(void* self, void* old, std::size_t before, std::size_t size) {
  if (size <= before) return size == 0 ? nullptr : old;
  auto* const us = static_cast<Interpreter*>(self);
  if (size > kMemory - us->used_) return nullptr;
  std::byte* const block = &us->memory_[us->used_];
  us->used_ = (us->used_ + size + 15) & ~std::size_t{15};
  if (old != nullptr) std::memcpy(block, old, before);
  return block;
}

void Interpreter::restore_memory() {
  std::memcpy(&memory_[0], parsed_.data(), parsed_.size());
  used_ = parsed_.size();
}

void Interpreter::push_reply(const CommandReply& reply) {
  lua_State* const lua = lua_;
  switch (reply.kind) {
    case CommandReply::Kind::nil:
      return lua_pushboolean(lua, 0);
    case CommandReply::Kind::integer:
      return lua_pushinteger(lua, reply.integer);
    case CommandReply::Kind::text:
      return push(lua, reply.text);
    case CommandReply::Kind::status:
    case CommandReply::Kind::error:
      push_marked(lua, reply.kind == CommandReply::Kind::status ? "ok" : "err", reply.text);
      return;
    case CommandReply::Kind::list:
      break;
  }
  lua_createtable(lua, static_cast<int>(reply.list.size()), 0);
  int at = 0;
  for (const std::string_view each : reply.list) {
    if (each.data() == nullptr) {
      lua_pushboolean(lua, 0);
    } else {
      push(lua, each);
    }
    lua_rawseti(lua, -2, ++at);
  }
}

void Interpreter::look_for_undeclared(Words words) {
  for (const std::string_view keyless : {"INFO", "TIME", "PUBLISH"}) {
    if (words[0] == keyless) return;
  }
  const bool several = words[0] == "DEL" || words[0] == "UNLINK";
  const std::size_t first = words[0] == "MEMORY" ? 2 : 1;
  for (std::size_t at = first; at < words.size() && (at == first || several); ++at) {
    if (std::ranges::find(declared_, words[at]) == declared_.end()) undeclared_ = words[at];
  }
}

/// An error of Lua's leaves this function without a return, so it has nothing to clean up.
int Interpreter::run_command(lua_State* lua, bool raises) {
  auto* const self = static_cast<Interpreter*>(lua_touserdata(lua, lua_upvalueindex(1)));
  std::array<std::string_view, kMostWords> words;
  std::array<char, 512> numbers;
  char* number = numbers.data();
  const auto count = static_cast<std::size_t>(lua_gettop(lua));
  bool fits = count > 0 && count <= kMostWords;
  for (std::size_t i = 0; fits && i < count; ++i) {
    const int index = static_cast<int>(i) + 1;
    const int type = lua_type(lua, index);
    if (type == LUA_TNUMBER && numbers.data() + numbers.size() - number > 40) {
      char* const begin = number;
      const double value = lua_tonumber(lua, index);
      const auto whole = static_cast<std::int64_t>(value);
      number = static_cast<double>(whole) == value
                   ? std::to_chars(begin, begin + 40, whole).ptr
                   : begin + std::snprintf(begin, 40, "%.17g", value);
      words[i] = {begin, static_cast<std::size_t>(number - begin)};
    } else {
      fits = type == LUA_TSTRING;
      if (fits) words[i] = text_at(lua, index);
    }
  }
  if (fits) {
    if (self->undeclared_.empty()) self->look_for_undeclared(Words(words).first(count));
    const CommandReply& reply = self->keyspace_->run(Words(words).first(count));
    self->push_reply(reply);
    if (kDragonfly) make_scores_numbers(lua, Words(words).first(count));
    raises = raises && reply.kind == CommandReply::Kind::error;
  } else {
    push_marked(lua, "err", "ERR Lua redis lib command arguments must be strings or integers");
  }
  return raises ? lua_error(lua) : 1;
}

int Interpreter::load(std::string_view script) {
  for (const Script& each : scripts_) {
    if (each.text == script) return each.function;
  }
  restore_memory();
  if (luaL_loadbuffer(lua_, script.data(), script.size(), "@script") != 0) {
    throw std::runtime_error(std::string(text_at(lua_, -1)) + " in " + std::string(script));
  }
  scripts_.push_back({std::string(script), luaL_ref(lua_, LUA_REGISTRYINDEX)});
  parsed_.assign(&memory_[0], &memory_[used_]);
  return scripts_.back().function;
}

redis::Value Interpreter::eval(Keyspace& keyspace, std::string_view script, Words keys,
                               Words arguments) {
  keyspace_ = &keyspace;
  declared_ = keys;
  undeclared_.clear();
  const int function = load(script);
  if (used_ > parsed_.size() + kGarbage) restore_memory();
  set_words(lua_, keys_, keys);
  set_words(lua_, arguments_, arguments);
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, function);
  const bool failed = lua_pcall(lua_, 0, 1, 0) != 0;
  redis::Value value = read_value(lua_);
  if (failed && value.type == redis::Value::Type::string) {
    value = {.type = redis::Value::Type::error, .text = "ERR Error running script: " + value.text};
  }
  lua_pop(lua_, 1);
  return value;
}

}  // namespace redlock::sim
