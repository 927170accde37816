// SPDX-License-Identifier: MIT
#include "driver/lock_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "redis/keys.h"

namespace redlock::driver {

LockId lock_id(const config::Settings& settings, std::string name) {
  std::string key = redis::lock_key(settings.prefix, name);
  return {.name = std::move(name),
          .key = std::move(key),
          .servers = server_set_fingerprint(settings.servers)};
}

std::string server_set_fingerprint(const std::vector<redis::Endpoint>& servers) {
  std::vector<std::string> places;
  places.reserve(servers.size());
  for (const redis::Endpoint& server : servers) {
    places.push_back(server.kind == redis::Endpoint::Kind::unix_socket
                         ? fmt::format("{} {}\n", server.path, server.db)
                         : fmt::format("{} {} {}\n", server.host, server.port, server.db));
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
