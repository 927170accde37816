// SPDX-License-Identifier: MIT
//
// The Lua scripts, embedded at build time from scripts/*.lua (see embed_scripts.cmake) without
// their comments and indentation. Each file begins with its keys, arguments and replies.
#pragma once

#include <string_view>

namespace redlock::redis::scripts {

extern const std::string_view
    acquire, acquire_shared, acquire_slot, bury, commit, commit_shared, done, hand_on, history,
    hold, inquire, join_queue, leave, leave_shared, log, look, mark, permissions, publish,
    refusals, refuse, release, release_shared, remove, renew, renew_shared, repair, repair_shared,
    revoke, sharded, waiting;

}  // namespace redlock::redis::scripts
