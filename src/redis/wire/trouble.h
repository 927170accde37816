// SPDX-License-Identifier: MIT
//
// Everything that can go wrong with a server, worded for a person who is woken at three in the
// morning: what happened and what to do. The caller puts the server's URI in front.
//
// Text from servers is untrusted: messages show it through redis::untrusted(), without the
// arguments that some servers repeat, since the arguments of AUTH are secrets.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "lock/vote.h"
#include "redis/wire/resp.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// Text from a server or its certificate, made fit for a message: os::printable(), cut to 120
/// bytes.
std::string untrusted(std::string_view text);

/// Whether the server may have carried out the request although no usable reply came back.
enum class Fate { never_sent, maybe_applied };

/// How far the way to a server had come when its deadline passed.
enum class Step { locating, resolving, connecting, securing, authenticating };

/// connect(2) or socket(2) failed with `error`, an errno.
lock::Unreachable connect_failed(const Endpoint& endpoint, int error);

/// The deadline for connecting passed.
lock::Unreachable connect_timed_out(const Endpoint& endpoint, Step step,
                                    std::chrono::milliseconds limit);

/// getaddrinfo(3) failed with `error` (EAI_*), for EAI_SYSTEM with the errno `system_error`.
lock::Unreachable lookup_failed(const Endpoint& endpoint, int error, int system_error);

/// An established connection ended: by the errno `error`, or, if 0, because the server closed it.
lock::Unreachable connection_lost(int error);

/// It ended in this way before the server had sent anything.
lock::Unreachable lost_before_a_word(const Endpoint& endpoint, int error);

/// The server answered a plain-text request with TLS.
lock::Unreachable wants_tls();

/// No answer in time.
lock::Unreachable request_timed_out(std::chrono::milliseconds limit);

/// The bytes that came are not RESP, or exceed its ReplyLimits.
lock::Unreachable not_redis(Fate fate);

/// The reply to a request that a node of a Cluster has not carried out, since another node has the
/// key (MOVED), or the slot is on its way there (ASK).
bool is_redirection(const Value& reply);

/// The reply to a request that a node of a Cluster has not carried out, and may carry out soon: the
/// lock's slot is half moved (TRYAGAIN), or no node serves it (CLUSTERDOWN).
bool is_momentary(const Value& reply);

/// The redirection is an ASK.
bool is_for_one_request(std::string_view redirection);

/// Neither of the nodes between which the slot of the lock moves can carry the request out.
lock::Unreachable slot_is_moving();

/// The node that has the lock's slot by the map of the Cluster has it no longer.
lock::Unreachable slot_has_moved();

/// Why the server that a Cluster or Sentinels led us to is the right one no longer; none: it may
/// be. It has not carried out the request.
std::optional<lock::Unreachable> outdated(const Value& reply);

/// The node of a Cluster, the last of `steps` redirections, names yet another node.
lock::Unreachable sent_in_circles(unsigned steps);

/// The server has carried the request out, but fewer replicas than --replicas have it.
lock::Unreachable too_few_replicas(std::int64_t have, unsigned wanted);

/// The server that the Sentinels name is a replica.
lock::Unreachable not_the_primary();

/// The Sentinels name another primary than the server that we are connected to.
lock::Unreachable was_replaced();

/// The Sentinels that answer know only an older configuration than we do.
lock::Unreachable outdated_sentinels();

/// An error reply to EVAL.
lock::Unreachable error_reply(std::string_view text);

/// Anything but +OK to AUTH or SELECT.
lock::Unreachable handshake_refused(const Value& reply, const Credentials& credentials);

/// The server forgot, or may have forgotten, what it held before it was started `uptime` ago.
lock::Unreachable restarted(std::chrono::seconds uptime, std::chrono::seconds trusted_in);

/// The server says that it is a replica of `primary` ("host:port", from its reply).
lock::Unreachable replica_of(std::string_view primary);

/// The fencing number that the server has in `key` cannot be read, or cannot grow. `value`: the
/// content of the field, from its reply; for a key that is not a hash, "type:" and its type.
lock::Unreachable unusable_fence(std::string_view key, std::string_view value);

/// A reply to EVAL that none of our scripts gives.
lock::Unreachable unexpected_reply(const Value& reply);

}  // namespace redlock::redis
