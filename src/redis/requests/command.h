// SPDX-License-Identifier: MIT
//
// Commands as values, and their one rendering as bytes for a server: only that knows EVAL, EVALSHA,
// ASKING and SPUBLISH. Absent on purpose: what is asked (request.h), replies (answer.h).
#pragma once

#include <string>
#include <vector>

#include "redis/requests/scripts.h"

namespace redlock::redis {

struct Command {
  const Script* script = nullptr;   ///< null: `words` are the whole command
  std::vector<std::string> keys{};  ///< of the script; the lock's key comes first if it has it
  std::vector<std::string> words{};
  /// Keys whose names the script makes itself. They follow `keys`: some servers refuse a script
  /// that touches any other key. But a user may lack permission for one: see Flight::undeclared.
  std::vector<std::string> more_keys{};

  bool operator==(const Command&) const = default;
};

/// The commands of one request, to be sent together. One of them is the request, the others are
/// best effort: we read and ignore their replies.
struct Flight {
  std::vector<Command> commands{};
  std::size_t answer_at = 0;  ///< which command is the request, from 0
  bool endless = false;  ///< a request with any number of replies (SUBSCRIBE): each is an arrival
  bool waits = false;    ///< the last command is WAIT: the request is answered once that is, too
  /// Scripts that may go by their hash do. The server may not know them: once it has answered such
  /// a command with an error, the flight goes out in full.
  bool by_hash = false;
  bool undeclared = false;  ///< more_keys stay out of KEYS: the server has refused the script
  bool asking = false;      ///< for a node to which a Cluster is moving the key: ASKING before each
  /// The lock's key if it is a hash, as Redisson's are; or empty.
  std::string redisson_key{};

  /// How many come, unless they are endless.
  [[nodiscard]] std::size_t replies() const { return commands.size() * (asking ? 2 : 1); }
  /// Which reply is the one to the request, from 0.
  [[nodiscard]] std::size_t answer() const { return asking ? 2 * answer_at + 1 : answer_at; }
  /// The command that this reply, from 0, answers goes by its hash.
  [[nodiscard]] bool hashed(std::size_t reply) const;
  /// The command that this reply answers declares more_keys.
  [[nodiscard]] bool declares_more(std::size_t reply) const;
  /// The request is answered once the last command is, too: that may have to go out once more.
  [[nodiscard]] bool awaits_last() const;
};

/// The bytes for a server. Our scripts and commands send messages with PUBLISH, which a Cluster
/// carries to every node: there they try SPUBLISH first, which only reaches the nodes that have the
/// lock's slot (https://redis.io/docs/latest/develop/pubsub/, "Sharded Pub/Sub").
std::string render(const Flight& flight, bool cluster);

}  // namespace redlock::redis
