// SPDX-License-Identifier: MIT
#include "sandbox/topologies.h"

namespace redlock::sandbox {
namespace {

constexpr int kTries = 5;

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
