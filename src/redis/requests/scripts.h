// SPDX-License-Identifier: MIT
//
// The Lua scripts, embedded at build time from scripts/*.lua (see embed_scripts.cmake) without
// their comments and indentation. Each file begins with its keys, arguments and replies.
#pragma once

#include <array>
#include <string_view>

namespace redlock::redis {

struct Script {
  std::string_view text;
  bool sends = false;  ///< calls PUBLISH
  /// The hashes by which a server that has executed the script knows it (EVALSHA): alone, after
  /// `sharded`, after `redisson`, and after both. Empty: it never goes by its hash. redlock may end
  /// before it could send a script in full, so no script that releases something has one; hand_on
  /// has: a release is not answered before it.
  std::array<std::string_view, 4> sha1{};
};

namespace scripts {

extern const Script acquire, acquire_newest, acquire_shared, acquire_slot, bury, commit,
    commit_shared, cut, done, hand_on, history, hold, inquire, join_queue, leave, leave_held,
    leave_shared, log, look, mark, permissions, publish, redisson, refusals, refuse, release,
    release_shared, remove, renew, renew_shared, repair, repair_shared, revoke, sharded, unmark,
    waiting, won;

}  // namespace scripts
}  // namespace redlock::redis
