-- SPDX-License-Identifier: MIT
--
-- What acquire.lua and acquire_shared.lua have in common before they look at the lock: how to read keys that
-- another program may have written, and how to refuse.

-- Other programs may have written the keys and fields, of any size: this script asks for the sizes first,
-- where the user may. If a value is longer than any of ours, it reads only the head.
local function read(key, longest)
  local long = (try('STRLEN', key) or 0) > longest
  return long and try('GETRANGE', key, 0, 1023) or redis.pcall('GET', key)
end

local function field(key, name, longest)
  if (try('HSTRLEN', key, name) or 0) > longest then return '' end
  local text = try('HGET', key, name) or ''
  return #text <= longest and text or ''
end

-- Every refusal puts us into the queue, or keeps us there. Without a clock (0) we would take the other
-- waiters' times for wrong ones.
local function refuse(word, blocker, left, holder)
  local ticket, place = ARGV[8], 0
  if ticket ~= '' and clock > 0 then
    local stands = enqueue(ARGV[7], ARGV[3], ticket)
    place = stands and (try('ZRANK', queue, ARGV[7]) or -1) + 1 or 0
  elseif ticket == '' then
    -- Another program may have added a waiter with a huge ticket. A score counts exactly up to 2^53.
    local last = try('ZRANGE', queue, -1, -1, 'WITHSCORES') or {}
    if #(last[1] or '') > 64 then clear() end
    ticket = string.format('%.0f', math.min(math.max(clock, (tonumber(last[2]) or 0) + 1), 2 ^ 53))
  end
  return {word, blocker, left, holder or '', stamp, ticket, place, try('ZCARD', queue) or 0}
end
