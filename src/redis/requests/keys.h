// SPDX-License-Identifier: MIT
//
// The valid names of a lock, and the names of its keys (redlock-protocol(7)).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace redlock::redis {

/// Throws Error (64) with the precise reason unless `name` is valid for a lock, as redlock(1) has
/// it. With a prefix, the whole key must pass as well.
void check_lock_name(std::string_view name);

/// A helper key of the lock `key`, in the same Cluster slot: "redlock:{key}:part", or, if the key
/// has a {tag} of its own, "redlock-tag:key:part" [`a` and `{a}` must not share them]. With an
/// empty part: what the names of all of them, and of the channels, begin with.
std::string helper_key(std::string_view key, std::string_view part);

/// The notice to a process that renews a lock: its owner has released it. Any other notice says
/// that something has happened to the lock.
inline constexpr std::string_view kReleasedNotice = "released";

/// The channel for notices to the holder of the lock with this token.
std::string notice_channel(std::string_view key, std::string_view token);

/// A wake-up for a waiter: Redisson has unlocked the lock, or from now on we hear when it does.
inline constexpr std::string_view kUnlocked = "unlocked";

/// The channel on which Redisson announces an unlock of this key.
std::string redisson_channel(std::string_view key);

/// The key in which a fair lock of Redisson's keeps its waiters.
std::string redisson_queue(std::string_view key);

/// The lock's key, if `helper` is this part of a lock.
std::optional<std::string> key_of_helper(std::string_view helper, std::string_view part);

/// A pattern for SCAN that all helper keys of this part match, and hardly any others.
std::string helper_pattern(std::string_view part);

}  // namespace redlock::redis
