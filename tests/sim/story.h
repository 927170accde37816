// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "clock.h"

namespace redlock::sim {

/// The schedule as a person reads it: one line for each event, with its time in seconds and who.
/// Costs nothing unless switched on; callers ask on() before they make words.
class Story {
 public:
  void reset(bool on) {
    on_ = on;
    text_.clear();
  }
  [[nodiscard]] bool on() const { return on_; }
  void say(Time at, std::string_view who, std::string_view what) {
    char stamp[32];
    std::snprintf(stamp, sizeof stamp, "%10.4f  ", static_cast<double>(at.count()) / 1e9);
    text_.append(stamp).append(who).append(who.size() < 8 ? 8 - who.size() : 0, ' ');
    text_.append(what).append("\n");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool on_ = false;
  std::string text_;
};

inline std::string client_name(std::size_t client) {
  return std::string(1, static_cast<char>('A' + client));
}
/// It is the lock's key, too.
inline std::string lock_name(std::size_t lock) {
  return std::string(1, static_cast<char>('a' + lock));
}
inline std::uint8_t lock_named(std::string_view name) {
  return static_cast<std::uint8_t>(name.front() - 'a');
}
inline std::string server_name(std::size_t server) {
  return "S" + std::to_string(server + 1);
}

}  // namespace redlock::sim
