// SPDX-License-Identifier: MIT
//
// What a sandbox can start. Deliberately absent: how a server is started and asked
// (sandbox_servers.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "sandbox/sandbox_servers.h"

namespace redlock::sandbox {

/// The URIs, for REDLOCK_SERVERS. No value: `stop` has become readable or hung up meanwhile.
using Uris = std::optional<std::vector<std::string>>;

/// Starts what the command line asks for. Returns when all are ready. If
/// another process takes one of the ports meanwhile, this starts all of them again, on other ports.
/// Throws Error: 69 if a server is not ready, 71 if the system refused something.
Uris start(SandboxServers& servers, const cli::Sandbox& wanted, int stop);

}  // namespace redlock::sandbox
