// SPDX-License-Identifier: MIT
//
// The Lua scripts, embedded at build time from scripts/*.lua (see embed_scripts.cmake) without
// their comments and indentation. Each file begins with its keys, arguments and replies.
#pragma once

#include <string_view>

namespace redlock::redis::scripts {

extern const std::string_view acquire;
extern const std::string_view acquire_shared;
extern const std::string_view acquire_slot;
extern const std::string_view bury;
extern const std::string_view commit;
extern const std::string_view commit_shared;
extern const std::string_view done;
extern const std::string_view hand_on;
extern const std::string_view history;
extern const std::string_view hold;
extern const std::string_view inquire;
extern const std::string_view join_queue;
extern const std::string_view leave;
extern const std::string_view leave_shared;
extern const std::string_view log;
extern const std::string_view look;
extern const std::string_view mark;
extern const std::string_view permissions;
extern const std::string_view publish;
extern const std::string_view remove;
extern const std::string_view renew;
extern const std::string_view renew_shared;
extern const std::string_view repair;
extern const std::string_view repair_shared;
extern const std::string_view release;
extern const std::string_view release_shared;
extern const std::string_view revoke;
extern const std::string_view sharded;
extern const std::string_view waiting;

}  // namespace redlock::redis::scripts
