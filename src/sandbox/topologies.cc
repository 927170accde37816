// SPDX-License-Identifier: MIT
#include "sandbox/topologies.h"

namespace redlock::sandbox {

Uris start(SandboxServers& servers, const cli::Sandbox& wanted, int stop) {
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

}  // namespace redlock::sandbox
