// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "redis/requests/request.h"
#include "redis/wire/resp.h"

namespace redlock::sim {

/// A blocking connection to a Redis server on a Unix socket.
class RealServer {
 public:
  /// Throws std::runtime_error, as every function here, if there is none.
  explicit RealServer(const std::string& path);
  ~RealServer();
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;

  /// The first of the replies.
  redis::Value send(const redis::Flight& flight);
  redis::Value command(std::initializer_list<std::string_view> words) {
    return send({redis::encode_command(words), 1});
  }
  /// All at once: what takes time here is to wake the other process. The replies, in the same
  /// order.
  std::vector<redis::Value> commands(const std::vector<std::string>& wires);
  redis::Value receive();
  /// What its clock shows, in ms.
  std::int64_t time_ms();

 private:
  void write(std::string_view wire);

  int fd_;
  redis::ReplyParser parser_;
};

}  // namespace redlock::sim
