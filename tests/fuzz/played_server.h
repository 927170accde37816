// SPDX-License-Identifier: MIT
//
// The servers of the target `session`: honest ones, which may be slow, stand still or end a
// connection, and liars, which may do anything.
#pragma once

#include <memory>
#include <set>

#include "fuzz.h"
#include "keyspace.h"
#include "port.h"
#include "redis/wire/resp.h"

namespace redlock::fuzz {

/// Unix time, at kStart.
inline constexpr std::int64_t kStartMs = 1'795'172'400'000;

/// A Redis server with redlock's own scripts.
class PlayedServer {
 public:
  void begin(std::size_t index, bool lies, bool knows_scripts, std::int64_t up_s);

  /// Carries out what has come, and sends the replies that are due. True: something happened.
  bool turn(lock::Instant now, Bytes& script);
  [[nodiscard]] lock::Instant deadline(lock::Instant now) const;

  /// It has granted the token, and that still counts.
  [[nodiscard]] bool has(const std::string& token, lock::Instant now) const;
  [[nodiscard]] const redis::Endpoint& endpoint() const { return port_.endpoint(); }
  sim::Keyspace& keys() { return keys_; }
  [[nodiscard]] bool lies() const { return lies_; }

  static std::int64_t ms(lock::Instant now) {
    return kStartMs + (now - kStart) / std::chrono::milliseconds(1);
  }

 private:
  struct Out {
    lock::Instant due;
    std::string bytes;
    bool ends = false;  ///< hangs up after these bytes
  };
  struct Stream {
    std::unique_ptr<redis::ReplyParser> commands = std::make_unique<redis::ReplyParser>();
    std::deque<Out> out{};
    std::set<std::string, std::less<>> channels{};
    std::string said{};  ///< the last bytes
  };

  redis::Value execute(std::size_t stream, const std::vector<redis::Value>& command);
  std::size_t publish(std::string_view channel, std::string_view message);
  void queue(Stream& stream, std::string bytes, lock::Instant due = {}, bool ends = false);
  void reply(std::size_t stream, const redis::Value& value, lock::Instant now, Bytes& script);
  void change_state(Bytes& script);
  bool send_due(std::size_t index, lock::Instant now);

  Port port_{Port::Kind::unix_socket};
  std::deque<Stream> streams_;  ///< by connection
  sim::Keyspace keys_;
  bool lies_ = false;
  bool knows_scripts_ = false;
  bool said_granted_ = false;
  lock::Instant paused_until_{};  ///< nothing that came since is read
};

}  // namespace redlock::fuzz
