// SPDX-License-Identifier: MIT
#include "driver/lock_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "redis/requests/keys.h"

namespace redlock::driver {

LockId lock_id(const config::Settings& settings, std::string name) {
  std::string key = redis::lock_key(settings.prefix, name);
  return {.name = std::move(name),
          .key = std::move(key),
          .servers = server_set_fingerprint(settings.servers)};
}

namespace {

/// The same for every URI of one server, as far as can be seen without asking it.
std::string place_of(const redis::Endpoint& server) {
  if (server.kind == redis::Endpoint::Kind::unix_socket) {
    return fmt::format("{} {}\n", server.path, server.db);
  }
  if (!server.moves()) return fmt::format("{} {} {}\n", server.host, server.port, server.db);
  std::vector<std::string> nodes;
  for (const redis::Address& node : server.nodes) nodes.push_back(node.display());
  std::ranges::sort(nodes);
  std::string place;
  for (const std::string& node : nodes) place += node + ",";
  return fmt::format("{} {} {}\n", place, server.service, server.db);
}

}  // namespace

std::string server_set_fingerprint(const std::vector<redis::Endpoint>& servers) {
  std::vector<std::string> places;
  places.reserve(servers.size());
  for (const redis::Endpoint& server : servers) {
    places.push_back(place_of(server));
  }
  std::sort(places.begin(), places.end());
  // FNV-1a: it protects no secret, it only distinguishes two sets.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::string& place : places) {
    for (const char byte : place) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    }
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace redlock::driver
