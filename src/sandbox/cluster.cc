// SPDX-License-Identifier: MIT
//
// A primary that starts calls its cluster down for 2 s. A replica does not, and when it takes over,
// it keeps its opinion. So every node begins as the replica of a primary that never existed. Half
// of the nodes take over, the others follow them, and all forget those that never existed.
#include <algorithm>
#include <array>
#include <cstdint>

#include "os/random.h"
#include "sandbox/topologies.h"

namespace redlock::sandbox {
namespace {

constexpr std::size_t kPrimaries = 3;
constexpr std::size_t kNodes = 6;  ///< node i + kPrimaries is the replica of node i
constexpr int kSlots = 16384;

/// No node may look down before the cluster is ready; later a fail-over should not take long.
constexpr const char* kFirstTimeout = "15000";
constexpr const char* kTimeout = "2000";

struct Plan {
  std::array<std::uint16_t, kNodes> ports{};
  std::array<std::string, kNodes> ids;
  std::array<std::string, kPrimaries> never;  ///< IDs of the primaries that never existed
};

Plan make_plan(ReservedPorts& ports) {
  Plan plan;
  for (std::size_t i = 0; i < kNodes; ++i) plan.ports[i] = ports.reserve();
  for (std::string& id : plan.ids) id = os::random_hex(20);
  for (std::string& id : plan.never) id = os::random_hex(20);
  return plan;
}

std::string slots_of(std::size_t primary) {
  const auto n = static_cast<int>(primary);
  const auto count = static_cast<int>(kPrimaries);
  return std::to_string(kSlots * n / count) + '-' + std::to_string(kSlots * (n + 1) / count - 1);
}

/// What node `self` knows when it starts. The epochs differ, so that no two nodes take over with
/// the same one.
std::string nodes_conf(const Plan& plan, std::size_t self) {
  std::string text;
  for (std::size_t i = 0; i < kPrimaries; ++i) {
    text += plan.never[i] + " 127.0.0.1:1@1 master - 0 0 " + std::to_string(i + 1) + " connected " +
            slots_of(i) + '\n';
  }
  for (std::size_t i = 0; i < kNodes; ++i) {
    const std::size_t primary = i % kPrimaries;
    const int port = plan.ports[i];
    text += plan.ids[i] + " 127.0.0.1:" + std::to_string(port) + '@' +
            std::to_string(port + 10'000) + (i == self ? " myself,slave " : " slave ") +
            plan.never[primary] + " 0 0 " + std::to_string(primary + 1) + " connected\n";
  }
  return text + "vars currentEpoch " + std::to_string(10 * (self + 1)) + " lastVoteEpoch 0\n";
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

/// Whether a node, by its CLUSTER NODES, is connected to all others, and knows whom each replica
/// follows.
bool knows_all(const std::string& nodes, const Plan& plan) {
  const auto says = [&](const std::string& word) { return nodes.find(word) != std::string::npos; };
  return std::all_of(plan.ids.begin(), plan.ids.begin() + kPrimaries,
                     [&](const std::string& id) { return says("slave " + id); }) &&
         !says("disconnected") && !says("handshake") && !says("fail");
}

/// Returns when every node knows whom each replica follows: before, a replica cannot take over.
/// They would learn it from the next regular ping. CLUSTER MEET connects again and sends one at
/// once. False: stopped.
bool introduce(SandboxServers& servers, const Plan& plan, int stop) {
  std::string meet;
  for (std::uint16_t port : plan.ports) {
    meet += "CLUSTER MEET 127.0.0.1 " + std::to_string(port) + '\n';
  }
  for (std::size_t i = kPrimaries; i < kNodes; ++i) {
    // One +OK is enough, even that of AUTH: if a meeting is refused, there is still the ping.
    if (!servers.until(i, meet, {"+OK"}, stop)) return false;
  }
  const auto enough = [&](const std::string& replies) { return knows_all(replies, plan); };
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (!servers.until(i, "CLUSTER NODES\n", enough, stop)) return false;
  }
  return true;
}

/// Returns when every node calls the cluster ok, without the primaries that never existed, and
/// every replica is connected to its primary. False: stopped.
bool take_over(SandboxServers& servers, const Plan& plan, int stop) {
  const std::string role = "INFO replication\n";
  const std::string state = "CLUSTER INFO\n";
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (!servers.until(i, "PING\n", {"+PONG"}, stop)) return false;
  }
  for (std::size_t i = 0; i < kPrimaries; ++i) {
    const std::string words = "CLUSTER FAILOVER TAKEOVER\n" + role;
    if (!servers.until(i, words, {"role:master"}, stop)) return false;
  }
  // A replica cannot forget its primary, so it must have another one before.
  for (std::size_t i = kPrimaries; i < kNodes; ++i) {
    if (!servers.until(i, role, {"master_link_status:up"}, stop)) return false;
  }
  std::string forget = std::string("CONFIG SET cluster-node-timeout ") + kTimeout + '\n';
  for (const std::string& id : plan.never) forget += "CLUSTER FORGET " + id + '\n';
  for (std::size_t i = 0; i < kNodes; ++i) {
    const std::string known = "cluster_known_nodes:" + std::to_string(kNodes) + "\r";
    if (!servers.until(i, forget + state, {known, "cluster_state:ok"}, stop)) return false;
  }
  return introduce(servers, plan, stop);
}

}  // namespace

Uris start_cluster(SandboxServers& servers, int stop) {
  const Plan plan = make_plan(servers.ports());
  std::string uri = "redis+cluster://:" + servers.password() + '@';
  for (std::size_t i = 0; i < kNodes; ++i) {
    servers.start({.lines = configuration(plan.ports[i]), .nodes = nodes_conf(plan, i)});
    uri += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(plan.ports[i]);
  }
  if (!take_over(servers, plan, stop)) return std::nullopt;
  return std::vector{uri};
}

}  // namespace redlock::sandbox
