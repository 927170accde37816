-- SPDX-License-Identifier: MIT
--
-- The readers of a shared lock. While readers hold the lock, its key is "shared:GENERATION", and lives as long as
-- the last of them. The generation is the token of the reader that took the free lock. A list of readers counts
-- only if it has the lock's value as a member, at infinity: a list that an earlier lock left does not.
--
-- token    ours
-- readers  the key of the list: token → until when that reader counts, in ms by this server's clock
--
-- Sets: kind, value (the first 1024 bytes), revoked: GENERATION, if the lock was revoked; shared: the list's
-- member, if the lock is shared and the list counts; ends: our end, if we stand there; ours: it has not come yet.
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
-- A score is text, on Dragonfly a floating-point number. There an answer that is such a number would be text.
local function ends_of(member)
  local ends = tonumber(redis.pcall('ZSCORE', readers, member))
  return ends and math.floor(ends)
end

local kind = redis.call('TYPE', KEYS[1]).ok
local value = kind == 'string' and redis.call('GETRANGE', KEYS[1], 0, 1023) or 'type:' .. kind
local revoked, reason = value:match('^revoked:(shared:%S+)(.*)')
local shared = revoked or value:match('^shared:%S+$')
shared = shared and ends_of(shared) and shared
local ends = shared and ends_of(token)
local ours = ends and ends > clock
