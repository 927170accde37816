// SPDX-License-Identifier: MIT
//
// Everything that can go wrong with a server, in words for the person woken at three in the
// morning: what happened and what to do. The caller puts the server's URI in front.
//
// What servers send is untrusted: it is shown through redis::untrusted(), and
// without the arguments some servers repeat, since those of AUTH are secrets.
#pragma once

#include <chrono>
#include <string_view>

#include "lock/vote.h"
#include "redis/credentials.h"
#include "redis/resp.h"
#include "redis/uri.h"

namespace redlock::redis {

/// Whether the request may have been carried out although nothing usable came back.
enum class Fate { never_sent, maybe_applied };

/// How far the way to a server had come when its deadline passed.
enum class Step { resolving, connecting, securing, authenticating };

/// connect(2) or socket(2) failed with `error`, an errno.
lock::Unreachable connect_failed(const Endpoint& endpoint, int error);

/// The deadline for connecting passed.
lock::Unreachable connect_timed_out(const Endpoint& endpoint, Step step,
                                    std::chrono::milliseconds limit);

/// getaddrinfo(3) failed with `error` (EAI_*), for EAI_SYSTEM with the errno `system_error`.
lock::Unreachable lookup_failed(const Endpoint& endpoint, int error, int system_error);

/// An established connection ended: by the errno `error`, or, if 0, by the server's closing it.
lock::Unreachable connection_lost(int error, Fate fate);

/// It ended in this way before the server had said a word.
lock::Unreachable lost_before_a_word(const Endpoint& endpoint, int error);

/// What came is TLS's, to a plain text's request.
lock::Unreachable wants_tls();

/// No answer in time.
lock::Unreachable request_timed_out(std::chrono::milliseconds limit);

/// The server has so many requests left unanswered that this one was not sent.
lock::Unreachable too_many_unanswered();

/// What came is no RESP, or beyond the limits of ReplyParser.
lock::Unreachable not_redis(Fate fate);

/// An error reply to EVAL.
lock::Unreachable error_reply(std::string_view text);

/// Anything but +OK to AUTH or SELECT.
lock::Unreachable handshake_refused(const Value& reply, const Credentials& credentials);

/// The server forgot, or may have forgotten, what it held before it was started `uptime` ago.
lock::Unreachable restarted(std::chrono::seconds uptime, std::chrono::seconds trusted_in);

/// The server says that it is a replica of `primary` ("host:port", its words).
lock::Unreachable replica_of(std::string_view primary);

/// The fencing number that the server has in `key` cannot be read, or cannot grow. `value`: what is
/// there, its words; "type:" and what it is for a key that is no hash.
lock::Unreachable unusable_fence(std::string_view key, std::string_view value);

/// A reply to EVAL that none of our scripts gives.
lock::Unreachable unexpected_reply(const Value& reply);

}  // namespace redlock::redis
