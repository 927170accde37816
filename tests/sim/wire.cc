// SPDX-License-Identifier: MIT
//
// How commands look on the simulators' wire: the words as redlock's own code made them (redis/requests),
// each with its length. A script goes as the place of its text, since to write and read RESP took as long
// as all the rest of a schedule. Stands in for redis/wire/resp.cc, which the unit tests and every suite
// look at.
#include <cstdint>
#include <cstring>

#include "redis/wire/resp.h"

namespace redlock::redis {

namespace {

/// Longer than any other word: a script, which is never freed.
constexpr std::size_t kScript = 512;

template <class T>
void add(std::string& wire, T value) {
  wire.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(std::string_view& wire) {
  T value;
  std::memcpy(&value, wire.data(), sizeof value);
  wire.remove_prefix(sizeof value);
  return value;
}

}  // namespace

std::string encode_command(std::initializer_list<std::string_view> arguments) {
  return encode_words({arguments.begin(), arguments.size()});
}

std::string encode_words(std::span<const std::string_view> arguments) {
  std::string wire;
  wire.reserve(arguments.size() * 32);
  add(wire, arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const bool script = i == 1 && word.size() > kScript && arguments[0] == "EVAL";
    add(wire, script ? ~word.size() : word.size());
    if (script) {
      add(wire, word.data());
    } else {
      wire += word;
    }
  }
  return wire;
}

std::vector<std::string_view> take_command(std::string_view& wire) {
  std::vector<std::string_view> words(take<std::size_t>(wire));
  for (std::string_view& word : words) {
    const auto size = take<std::size_t>(wire);
    if (size > SIZE_MAX / 2) {
      word = {take<const char*>(wire), ~size};
    } else {
      word = wire.substr(0, size);
      wire.remove_prefix(size);
    }
  }
  return words;
}

}  // namespace redlock::redis
