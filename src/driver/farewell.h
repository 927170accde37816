// SPDX-License-Identifier: MIT
#pragma once

#include "os/loop.h"
#include "redis/server_set.h"

namespace redlock::driver {

/// At the end of a process: sees to it that the servers have read what they were asked last, a
/// release or that we left the queue. A server that finds nobody there for an earlier answer reads
/// nothing more of a Unix socket. At most 200 ms, and 20 ms where it has only the last of it to
/// answer. A server that has not answered in time is not waited for: it has everything in its
/// socket, and reads that at once when it goes on. Throws Error (71).
void bid_farewell(redis::ServerSet& servers, os::Loop& loop);

}  // namespace redlock::driver
