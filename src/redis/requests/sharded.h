// SPDX-License-Identifier: MIT
//
// Messages in a Redis Cluster (https://redis.io/docs/latest/develop/pubsub/, "Sharded Pub/Sub").
// Absent on purpose: the subscriptions to them (subscriber.h).
#pragma once

#include "redis/requests/request.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// The flight as this server gets it. Its scripts and commands send messages with PUBLISH, which a
/// Cluster carries to every node. There they try SPUBLISH first, which only reaches the nodes that
/// have the lock's slot. For all other servers the flight stays as it is.
Flight for_server(Flight flight, const Endpoint& endpoint);

}  // namespace redlock::redis
