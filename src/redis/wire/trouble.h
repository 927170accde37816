// SPDX-License-Identifier: MIT
//
// What goes wrong with a server, in words for a person who is woken at three in the morning: what
// happened and what to do. The caller puts the server's URI in front. A situation that only one
// file can see has its words there.
//
// Text from servers is untrusted: messages show it through redis::untrusted(), without the
// arguments that some servers repeat, since the arguments of AUTH are secrets.
#pragma once

#include <chrono>

#include "lock/vote.h"
#include "redis/wire/resp.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// Text from a server or its certificate as a message may show it: cleaned, at most 120 bytes.
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

/// The same, before the server had sent anything.
lock::Unreachable lost_before_a_word(const Endpoint& endpoint, int error);

lock::Unreachable request_timed_out(std::chrono::milliseconds limit);

/// The bytes that came are not RESP, or exceed its ReplyLimits.
lock::Unreachable not_redis(Fate fate);

/// The reply to a request that a node of a Cluster has not carried out, since another node has the
/// key (MOVED), or the slot is on its way there (ASK).
bool is_redirection(const Value& reply);

/// The reply to a request that a node of a Cluster has not carried out, and may carry out soon: the
/// lock's slot is half moved (TRYAGAIN), or no node serves it (CLUSTERDOWN).
bool is_momentary(const Value& reply);

/// The reply to a script that the server may carry out if fewer keys are in KEYS: the user lacks
/// permission for one of them (NOPERM), or the slot is half moved (TRYAGAIN).
bool is_about_keys(const Value& reply);

/// The reply to a script that the server may carry out if it gets the script in full.
bool is_about_hash(const Value& reply);

/// An error that time alone can cure, such as BUSY, or a server that is full.
bool passes_with_time(const Value& reply);

/// The server turns us away, whatever we ask, and may hang up.
bool turns_away(const Value& error);

/// The redirection is an ASK.
bool is_for_one_request(std::string_view redirection);

/// Neither of the nodes between which the slot of the lock moves can carry the request out.
lock::Unreachable slot_is_moving();

/// The reply to a request that a server has not carried out, since it is a replica.
bool is_of_replica(const Value& reply);

/// If the reply shows that a Cluster or Sentinels must lead us to another server: why. This one has
/// not carried out the request.
std::optional<lock::Unreachable> outdated(const Value& reply);

/// An error reply to EVAL.
lock::Unreachable error_reply(std::string_view text);

/// Anything but +OK to AUTH or SELECT.
lock::Unreachable handshake_refused(const Value& reply, const Credentials& credentials);

/// A reply to EVAL that none of our scripts gives.
lock::Unreachable unexpected_reply(const Value& reply);

}  // namespace redlock::redis
