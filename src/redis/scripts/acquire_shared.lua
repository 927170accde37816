-- SPDX-License-Identifier: MIT
--
-- Takes the lock as one of its readers, if it is free or others read it, no writer waits before us, and this
-- server can vouch for that; or joins the place of an ancestor among the readers.
--
-- KEYS[1] to KEYS[4], ARGV[1] to ARGV[10]  as in acquire.lua, without --once and a minimum hold
-- KEYS[5]  the readers: see readers.lua
--
-- Replies as acquire.lua. {'refused', 'shared:GENERATION', …, writer}: others read, but that writer waits before us;
-- as JSON, or ''.
local token, readers = ARGV[1], KEYS[5]
--include readers
--include asked
--include enter

local fits = shared and shared:byte(8) == 115
--include barred
--include buried
--include vouch

local enters_with_us = reads
--include before

-- Whoever holds the lock, a writer that waits comes before the readers that come after it.
if not (ours or joins) and (try('ZCARD', queue) or 0) > 0 then
  local ticket = tonumber(ARGV[8])
  local owner, left = turn_before(ticket, kind == 'none')
  if not owner or reads(owner) then owner, left = other_before(ticket) end
  if owner then
    if left or kind == 'none' then return refuse('turn', owner, left or 500) end
    return refuse('refused', value, redis.call('PTTL', KEYS[1]), field(KEYS[2], value, 8192), field(waiters, owner, 8192))
  end
  if ticket then count_again(us) end
end

--include seat
--include grant
