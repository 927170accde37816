// SPDX-License-Identifier: MIT
//
// A primary that starts calls its cluster down for 2 s. A replica does not, and when it takes over,
// it keeps its opinion. So every node begins as the replica of a primary that never existed. Half
// of the nodes take over, the others follow them, and all forget those that never existed.
//
// They take over one after the other, each when it knows of the epoch of the one before. Two
// primaries with the same epoch would settle that later by a new one: a slot that moves to another
// node at that moment has two owners for ever.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

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

/// What node `self` knows when it starts.
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
  return text + "vars currentEpoch 10 lastVoteEpoch 0\n";
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

/// Whether a node, by its CLUSTER NODES, knows that the primaries have their slots.
bool knows_owners(const std::string& nodes, const Plan& plan) {
  for (std::size_t i = 0; i < kPrimaries; ++i) {
    const std::size_t line = nodes.find(plan.ids[i] + " 127.0.0.1:");
    if (line == std::string::npos) return false;
    const std::string words = nodes.substr(line, nodes.find('\n', line) - line);
    if (!words.ends_with(' ' + slots_of(i))) return false;
  }
  return true;
}

/// Whether a node, by its CLUSTER NODES, is connected to all others, and knows whom each replica
/// follows.
bool knows_replicas(const std::string& nodes, const Plan& plan) {
  return std::all_of(plan.ids.begin(), plan.ids.begin() + kPrimaries,
                     [&](const std::string& id) { return contains(nodes, "slave " + id); }) &&
         !contains(nodes, "disconnected") && !contains(nodes, "handshake");
}

/// The number behind `name` in the reply to CLUSTER INFO; -1: there is none.
std::int64_t number_of(const std::string& info, const std::string& name) {
  const std::size_t at = info.find(name + ':');
  return at == std::string::npos ? -1 : std::atoll(info.c_str() + at + name.size() + 1);
}

/// Makes each primary-to-be one, with an epoch of its own. False: stopped.
bool become_primaries(SandboxServers& servers, int stop) {
  std::int64_t epoch = 0;
  const auto knows_epoch = [&](const std::string& replies) {
    return number_of(replies, "cluster_current_epoch") >= epoch;
  };
  const auto is_primary = [&](const std::string& replies) {
    epoch = number_of(replies, "cluster_my_epoch");
    return contains(replies, "role:master");
  };
  const std::string words = "CLUSTER FAILOVER TAKEOVER\nINFO replication\nCLUSTER INFO\n";
  for (std::size_t i = 0; i < kPrimaries; ++i) {
    if (!servers.until(i, "CLUSTER INFO\n", knows_epoch, stop)) return false;
    if (!servers.until(i, words, is_primary, stop)) return false;
  }
  return true;
}

/// Returns when every node knows that the primaries have taken over, and every replica is connected
/// to its primary. False: stopped.
bool take_over(SandboxServers& servers, const Plan& plan, int stop) {
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (!servers.until(i, "PING\n", {"+PONG"}, stop)) return false;
  }
  if (!become_primaries(servers, stop)) return false;
  for (std::size_t i = kPrimaries; i < kNodes; ++i) {
    if (!servers.until(i, "INFO replication\n", {"master_link_status:up"}, stop)) return false;
  }
  const auto known = [&](const std::string& replies) { return knows_owners(replies, plan); };
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (!servers.until(i, "CLUSTER NODES\n", known, stop)) return false;
  }
  return true;
}

/// After take_over(): a node cannot forget its primary, and it calls the cluster down while it
/// knows no node with a slot. False: stopped.
bool forget(SandboxServers& servers, const Plan& plan, int stop) {
  std::string commands;
  for (const std::string& id : plan.never) commands += "CLUSTER FORGET " + id + '\n';
  const std::string known = "cluster_known_nodes:" + std::to_string(kNodes) + "\r";
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (!servers.until(i, commands + "CLUSTER INFO\n", {known}, stop)) return false;
  }
  return true;
}

/// Returns when every node calls the cluster ok and knows whom each replica follows: before, a
/// replica cannot take over. They would learn it from the next regular ping. CLUSTER MEET connects
/// again and sends one at once. False: stopped.
bool introduce(SandboxServers& servers, const Plan& plan, int stop) {
  const std::string timeout = std::string("CONFIG SET cluster-node-timeout ") + kTimeout + '\n';
  for (std::size_t i = 0; i < kNodes; ++i) {
    std::string commands = timeout;
    for (std::size_t other = 0; i >= kPrimaries && other < kNodes; ++other) {
      if (other == i) continue;
      commands += "CLUSTER MEET 127.0.0.1 " + std::to_string(plan.ports[other]) + '\n';
    }
    // One +OK is enough, even that of AUTH: if a meeting is refused, there is still the ping.
    if (!servers.until(i, commands, {"+OK"}, stop)) return false;
  }
  const auto complete = [&](const std::string& replies) {
    return contains(replies, "cluster_state:ok") && knows_replicas(replies, plan);
  };
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (!servers.until(i, "CLUSTER INFO\nCLUSTER NODES\n", complete, stop)) return false;
  }
  return true;
}

}  // namespace

Uris start_cluster(SandboxServers& servers, int stop) {
  const Plan plan = make_plan(servers.ports());
  std::string uri = "redis+cluster://:" + servers.password() + '@';
  for (std::size_t i = 0; i < kNodes; ++i) {
    servers.start({.lines = configuration(plan.ports[i]), .nodes = nodes_conf(plan, i)});
    uri += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(plan.ports[i]);
  }
  const bool ready = take_over(servers, plan, stop) && forget(servers, plan, stop) &&
                     introduce(servers, plan, stop);
  if (!ready) return std::nullopt;
  return std::vector{uri};
}

}  // namespace redlock::sandbox
