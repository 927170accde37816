// SPDX-License-Identifier: MIT
//
// The Lua scripts, embedded at build time from scripts/*.lua (see embed_scripts.cmake) without
// their comments and indentation. Each file begins with its keys, arguments and replies.
#pragma once

#include <span>
#include <string_view>

namespace redlock::redis::scripts {

extern const std::string_view
    acquire, acquire_newest, acquire_shared, acquire_slot, bury, commit, commit_shared, cut, done,
    hand_on, history, hold, inquire, join_queue, leave, leave_shared, log, look, mark, permissions,
    publish, redisson, redisson_sharded, refusals, refuse, release, release_shared, remove, renew,
    renew_shared, repair, repair_shared, revoke, sharded, unmark, waiting, won;

/// The names by which a server that has executed a script knows it (EVALSHA). After an error, the
/// script goes out as a whole. redlock may end before it could do that, so no script that releases
/// something is among them; hand_on is: a release is not answered before it.
struct Hashed {
  std::string_view before;  ///< `sharded`, `redisson`, both or nothing: see for_server()
  std::string_view text;
  std::string_view sha1;  ///< of both, with a newline between them
};
extern const std::span<const Hashed> hashed;

}  // namespace redlock::redis::scripts
