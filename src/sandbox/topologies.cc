// SPDX-License-Identifier: MIT
#include "sandbox/topologies.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "os/random.h"

namespace redlock::sandbox {
namespace {

constexpr int kTries = 5;

std::string percent_encode(std::string_view path) {
  const std::string_view hex = "0123456789ABCDEF";
  std::string encoded;
  for (char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      encoded += c;
    } else {
      encoded.append({'%', hex[byte >> 4U], hex[byte & 15U]});
    }
  }
  return encoded;
}

/// Servers that know nothing of each other, on Unix sockets.
Uris start_plain(SandboxServers& servers, int count, int stop) {
  std::vector<std::string> uris;
  for (int i = 0; i < count; ++i) {
    const std::size_t server = servers.start({.lines = "port 0\n"});
    uris.push_back("unix://" + percent_encode(servers.socket(server)));
  }
  for (std::size_t i = 0; i < uris.size(); ++i) {
    if (!servers.until(i, "PING\n", {"+PONG"}, stop)) return std::nullopt;
  }
  return uris;
}

// A Redis Cluster of three primaries and three replicas, on ports of 127.0.0.1. Each node's file
// says all about the cluster, so no node has to meet another. Two primaries with the same epoch
// would settle that later by a new one: a slot that moves to another node at that moment has two
// owners for ever.

constexpr std::size_t kPrimaries = 3;
constexpr std::size_t kNodes = 6;  ///< node i + kPrimaries is the replica of node i
constexpr int kSlots = 16384;

/// No node may look down before the cluster is ready; later a fail-over should not take long.
constexpr const char* kFirstTimeout = "15000";
constexpr const char* kTimeout = "2000";

struct Plan {
  std::array<std::uint16_t, kNodes> ports{};
  std::array<std::string, kNodes> ids;
};

Plan make_plan(ReservedPorts& ports) {
  Plan plan;
  for (std::size_t i = 0; i < kNodes; ++i) plan.ports[i] = ports.reserve();
  for (std::string& id : plan.ids) id = os::random_hex(20);
  return plan;
}

std::string slots_of(std::size_t primary) {
  const auto n = static_cast<int>(primary);
  const auto count = static_cast<int>(kPrimaries);
  return std::to_string(kSlots * n / count) + '-' + std::to_string(kSlots * (n + 1) / count - 1);
}

/// What node `self` knows when it starts.
std::string nodes_conf(const Plan& plan, std::size_t self) {
  constexpr std::size_t kFirstEpoch = 11;
  std::string text;
  for (std::size_t i = 0; i < kNodes; ++i) {
    const std::size_t primary = i % kPrimaries;
    const bool replica = i != primary;
    text += plan.ids[i] + " 127.0.0.1:" + std::to_string(plan.ports[i]) + '@' +
            std::to_string(plan.ports[i] + 10'000) + (i == self ? " myself," : " ") +
            (replica ? "slave " + plan.ids[primary] : "master -") + " 0 0 " +
            std::to_string(kFirstEpoch + primary) + " connected" +
            (replica ? "" : ' ' + slots_of(primary)) + '\n';
  }
  return text + "vars currentEpoch " + std::to_string(kFirstEpoch + kPrimaries - 1) +
         " lastVoteEpoch 0\n";
}

std::string configuration(std::uint16_t port) {
  return "port " + std::to_string(port) +
         "\nbind 127.0.0.1\n"
         "cluster-enabled yes\n"
         "cluster-config-file nodes.conf\n"
         "cluster-node-timeout " +
         kFirstTimeout +
         "\nrepl-diskless-sync yes\n"
         "repl-diskless-sync-delay 0\n";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Returns when every node calls the cluster ok, is connected to all others, and knows whom each
/// replica follows: before, a replica cannot take over. False: stopped.
bool until_ready(SandboxServers& servers, const Plan& plan, int stop) {
  for (std::size_t i = 0; i < kNodes; ++i) {
    const auto complete = [&](const std::string& replies) {
      return contains(replies, "cluster_state:ok") && !contains(replies, "disconnected") &&
             !contains(replies, "handshake") &&
             std::all_of(plan.ids.begin(), plan.ids.begin() + kPrimaries,
                         [&](const std::string& id) { return contains(replies, "slave " + id); }) &&
             (i < kPrimaries || contains(replies, "master_link_status:up"));
    };
    const char* const questions = "CLUSTER INFO\nCLUSTER NODES\nINFO replication\n";
    if (!servers.until(i, questions, complete, stop)) return false;
  }
  const std::string timeout = std::string("CONFIG SET cluster-node-timeout ") + kTimeout + '\n';
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (!servers.until(i, timeout, {"+OK"}, stop)) return false;
  }
  return true;
}

Uris start_cluster(SandboxServers& servers, int stop) {
  const Plan plan = make_plan(servers.ports());
  std::string uri = "redis+cluster://:" + servers.password() + '@';
  for (std::size_t i = 0; i < kNodes; ++i) {
    servers.start({.lines = configuration(plan.ports[i]), .nodes = nodes_conf(plan, i)});
    uri += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(plan.ports[i]);
  }
  if (!until_ready(servers, plan, stop)) return std::nullopt;
  return std::vector{uri};
}

// A primary, two replicas and three Sentinels, on ports of 127.0.0.1. The Sentinels' files name all
// servers and all Sentinels. They would find each other without, but that takes seconds.

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

Uris start_once(SandboxServers& servers, const cli::Sandbox& wanted, int stop) {
  switch (wanted.kind) {
    case cli::Sandbox::Kind::cluster:
      return start_cluster(servers, stop);
    case cli::Sandbox::Kind::sentinel:
      return start_sentinels(servers, stop);
    case cli::Sandbox::Kind::plain:
      break;
  }
  return start_plain(servers, wanted.servers, stop);
}

}  // namespace

Uris start(SandboxServers& servers, const cli::Sandbox& wanted, int stop) {
  for (int tries = 1;; ++tries) {
    try {
      return start_once(servers, wanted, stop);
    } catch (const PortTaken&) {
      if (tries == kTries) throw;
      servers.clear();
    }
  }
}

}  // namespace redlock::sandbox
