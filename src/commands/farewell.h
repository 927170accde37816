// SPDX-License-Identifier: MIT
#pragma once

#include "os/loop.h"
#include "redis/server_set.h"

namespace redlock::commands {

/// For who ends without the lock: sees to it that the servers have read that it left the queue. One
/// that still has something to answer when the connection ends reads nothing more. At most 20 ms;
/// nothing if there was no queue to leave. Throws Error (71).
void bid_farewell(redis::ServerSet& servers, os::Loop& loop);

}  // namespace redlock::commands
