// SPDX-License-Identifier: MIT
//
// Runs redlock's own scripts, byte for byte as they go over the wire, on a keyspace. Each script is
// parsed once. No script leaves anything for the next one, so Lua frees no memory: when it
// has used up its block, that becomes what it was after the last script was parsed. `redis.call`,
// `redis.pcall` and the conversions between Lua and RESP are as
// https://redis.io/docs/latest/develop/programmability/lua-api/ says.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "keyspace.h"
#include "redis/wire/resp.h"

struct lua_State;

namespace redlock::sim {

class Interpreter {
 public:
  Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  redis::Value eval(Keyspace& keyspace, std::string_view script, Words keys, Words arguments);

  /// The first key that the last script touched and that is not in its KEYS: a service would refuse
  /// the script. Empty: there is none.
  [[nodiscard]] const std::string& undeclared() const { return undeclared_; }

 private:
  struct Script {
    std::string text;
    int function;  ///< its place in Lua's registry
  };

  static void* allocate(void* self, void* old, std::size_t before, std::size_t size);
  void restore_memory();
  int load(std::string_view script);
  void push_reply(const CommandReply& reply);
  void look_for_undeclared(Words words);
  static int run_command(lua_State* lua, bool raises);

  std::unique_ptr<std::byte[]> memory_;
  std::size_t used_ = 0;
  std::vector<std::byte> parsed_;  ///< the memory after the last script was parsed
  lua_State* lua_;
  int keys_;  ///< the places of these tables in Lua's registry
  int arguments_;
  Keyspace* keyspace_ = nullptr;
  Words declared_{};
  std::string undeclared_{};
  std::vector<Script> scripts_;
};

}  // namespace redlock::sim
