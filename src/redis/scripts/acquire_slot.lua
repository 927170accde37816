-- SPDX-License-Identifier: MIT
--
-- Takes the slot of the lock that our token names, if nobody has it, it is not another waiter's turn, and this
-- server can vouch for that; or joins the slot of an ancestor.
--
-- KEYS[1] to KEYS[5], ARGV[1] to ARGV[10]  as in acquire_shared.lua
--
-- Replies as acquire.lua. If the lock has as many slots as our token says and somebody has ours, or it is another
-- waiter's turn, there is a last element: for each slot 4 digits of its holder's token, or nothing, separated by
-- commas. The value is the token that has our slot, the time that until the first slot may be free.
-- {'refused', 'shared:GENERATION', …, waiter}: that waiter, as JSON or '', is before us and wants something else than
-- one of as many slots. {'refused', 'type:crowd', …}: see slots.lua.
local token, readers = ARGV[1], KEYS[5]
--include readers
--include asked
--include slots
--include enter

local owners
if fits then
  local map = {}
  for at = 1, tonumber(slots, 16) do
    map[at] = (taken[('%02x'):format(at)] or ''):sub(6, 9)
  end
  owners = table.concat(map, ',')
end

--include barred
--include buried
if crowd and not ours and not joins then
  return refuse('refused', 'type:crowd', redis.call('PTTL', KEYS[1]))
end
if occupant and not joins then
  return refuse('refused', occupant, soonest - clock, field(KEYS[2], occupant, 8192), owners)
end
--include vouch

local function enters_with_us(waiter)
  return waiter:match('^p00(%x%x)') == slots
end
--include before

-- The queue decides only about a free slot, unless others before us wait until no slot is taken.
if not ours and not joins and (try('ZCARD', queue) or 0) > 0 then
  local ticket = tonumber(ARGV[8])
  local other, may_ask
  if kind ~= 'none' then other, may_ask = other_before(ticket) end
  if may_ask then return refuse('turn', other, may_ask) end
  if other then
    return refuse('refused', value, redis.call('PTTL', KEYS[1]), field(KEYS[2], value, 8192),
                  field(waiters, other, 8192))
  end
  local owner, left = turn_before(ticket, true)
  if owner then return refuse('turn', owner, left, nil, owners) end
  if ticket then count_again(us) end
end
--include seat
--include grant
