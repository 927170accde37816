// SPDX-License-Identifier: MIT
//
// The Sentinels' files name all servers and all Sentinels. They would find each other without, but
// that takes seconds.
#include <array>
#include <cstdint>

#include "os/random.h"
#include "sandbox/topologies.h"

namespace redlock::sandbox {
namespace {

constexpr std::size_t kServers = 3;  ///< the first one is the primary
constexpr std::size_t kSentinels = 3;

struct Trio {
  std::array<std::uint16_t, kServers> ports{};
  std::array<std::uint16_t, kSentinels> sentinel_ports{};
  std::array<std::string, kSentinels> ids;
};

Trio make_trio(ReservedPorts& ports) {
  Trio trio;
  for (std::uint16_t& port : trio.ports) port = ports.reserve();
  for (std::uint16_t& port : trio.sentinel_ports) port = ports.reserve();
  for (std::string& id : trio.ids) id = os::random_hex(20);
  return trio;
}

std::string listen_on(std::uint16_t port) {
  return "port " + std::to_string(port) + "\nbind 127.0.0.1\n";
}

std::string server_lines(const Trio& trio, std::size_t self) {
  std::string lines = listen_on(trio.ports[self]) +
                      "repl-diskless-sync yes\n"
                      "repl-diskless-sync-delay 0\n";
  if (self != 0) lines += "replicaof 127.0.0.1 " + std::to_string(trio.ports[0]) + '\n';
  return lines;
}

std::string sentinel_lines(const Trio& trio, std::size_t self, const std::string& password) {
  std::string lines = listen_on(trio.sentinel_ports[self]) + "sentinel myid " + trio.ids[self] +
                      "\nsentinel monitor mymaster 127.0.0.1 " + std::to_string(trio.ports[0]) +
                      " 2\n"
                      "sentinel down-after-milliseconds mymaster 2000\n"
                      "sentinel failover-timeout mymaster 5000\n"
                      "sentinel auth-pass mymaster " +
                      password + '\n';
  for (std::size_t i = 1; i < kServers; ++i) {
    lines += "sentinel known-replica mymaster 127.0.0.1 " + std::to_string(trio.ports[i]) + '\n';
  }
  for (std::size_t i = 0; i < kSentinels; ++i) {
    if (i == self) continue;
    lines += "sentinel known-sentinel mymaster 127.0.0.1 " +
             std::to_string(trio.sentinel_ports[i]) + ' ' + trio.ids[i] + '\n';
  }
  return lines;
}

std::string uri_of(const Trio& trio, const std::string& password) {
  std::string uri = "redis+sentinel://:" + password + '@';
  for (std::size_t i = 0; i < kSentinels; ++i) {
    uri += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(trio.sentinel_ports[i]);
  }
  return uri + "/mymaster?sentinel_password=" + password;
}

}  // namespace

Uris start_sentinels(SandboxServers& servers, int stop) {
  const Trio trio = make_trio(servers.ports());
  const std::string& password = servers.password();
  // The primary first: a replica that does not reach it waits for 1 s.
  const std::size_t primary = servers.start({.lines = server_lines(trio, 0)});
  if (!servers.until(primary, "PING\n", {"+PONG"}, stop)) return std::nullopt;
  for (std::size_t i = 1; i < kServers; ++i) servers.start({.lines = server_lines(trio, i)});
  for (std::size_t i = 0; i < kSentinels; ++i) {
    servers.start({.lines = sentinel_lines(trio, i, password), .sentinel = true});
  }
  for (std::size_t i = 1; i < kServers; ++i) {
    if (!servers.until(i, "INFO replication\n", {"master_link_status:up"}, stop)) {
      return std::nullopt;
    }
  }
  for (std::size_t i = kServers; i < kServers + kSentinels; ++i) {
    if (!servers.until(i, "INFO sentinel\n", {"status=ok", "slaves=2,sentinels=3"}, stop)) {
      return std::nullopt;
    }
  }
  return std::vector{uri_of(trio, password)};
}

}  // namespace redlock::sandbox
