// SPDX-License-Identifier: MIT
//
// The search, and what it goes through: two redlocks, three servers, and all that is on its way
// between them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "checks.h"
#include "link.h"
#include "lock/session.h"
#include "request.h"
#include "server.h"

namespace redlock::sim {

inline constexpr std::size_t kServers = 3;
inline constexpr std::size_t kClients = 2;
inline constexpr std::uint32_t kQuorum = 2;

/// What may go wrong, how often.
struct Situation {
  std::string_view name;
  bool once = false;         ///< the first client runs with --once, and needs all answers
  std::uint8_t stops = 0;    ///< a client is stopped while time passes
  std::uint8_t crashes = 0;  ///< a server loses all data
  std::uint8_t lates = 0;    ///< an answer stays on its way until the next exchange
  std::uint8_t forces = 0;   ///< `redlock release --force --now`
};

using Hash = std::uint64_t;

Hash mix(Hash a, Hash b);
Hash hash_of(std::string_view text);
Hash hash_of(const std::vector<redis::Command>& commands);
Hash hash_of(Time time);
Hash hash_of(const lock::Answer& answer);

struct Channel {
  bool dialing = false;
  bool open = false;
  std::deque<Request> requests{};
  std::deque<lock::Answer> answers{};
  Hash on_the_way = 0;  ///< of both, and of what was taken off

  void note(Hash hash) { on_the_way = mix(on_the_way, hash); }
};

struct Contender {
  std::optional<lock::Session> session;
  AttemptTokens tokens;
  redis::LockContext context;
  std::array<Link, kServers> links;
  std::array<Channel, kServers> channels;
  bool started = false;
  bool stopped = false;
  bool job = false;
  /// What made it do something, in this order; and the replies since then, in any order.
  Hash past = 0;
  Hash replies = 0;

  /// Of its session, which it must have, and of its links.
  [[nodiscard]] lock::Instant deadline() const;
};

/// All that a step may change.
struct State {
  Time now{};
  std::array<Server, kServers> servers;
  std::array<Contender, kClients> clients;
  Checks checks;
  Situation left{};
  std::uint32_t touched = 0;  ///< the servers that are not as all were in the beginning
  Token taken = kNoToken;     ///< by force; on which servers:
  std::uint32_t revoked = 0;
  std::uint32_t deleted = 0;
  Hash jobs = 0;  ///< when they began and ended

  Channel& channel(std::size_t client, std::size_t server) {
    return clients[client].channels[server];
  }
  /// Two states with the same hash count as one.
  [[nodiscard]] Hash hash() const;
};

/// Looks at all states that two redlocks and three servers can reach within `most_steps`, in the
/// situation with that name ("": in each), and prints how many there are. False: it has found a
/// violation, with as few steps as possible, and printed it.
bool search(std::size_t most_steps, std::string_view only);

}  // namespace redlock::sim
