-- SPDX-License-Identifier: MIT
--
-- A waiter leaves the queue, or somebody has freed the lock. If the lock is free and nobody has the turn, the
-- first waiter gets it. If readers hold the lock, the readers at the head of the queue are woken.
--
-- KEYS[1]  the lock, which this script only reads
-- ARGV[1]  the beginning of the names of the queue's keys: see queue.lua
-- ARGV[2]  the waiter that leaves, or ''
--
-- {'held'}: the lock has a holder and no free slot, or it cools: then the first two waiters learn for how long
-- {'free', the waiter that has the turn now, or ''}
local prefix = ARGV[1]
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
--include queue
--include turn
if ARGV[2] ~= '' then
  forget(ARGV[2])
  if try('GETRANGE', turn, 0, 63) == ARGV[2] then try('DEL', turn) end
end

local kind = redis.call('TYPE', KEYS[1]).ok
local head = kind == 'string' and redis.call('GETRANGE', KEYS[1], 0, 11)
if head and string.sub(head, 1, 8) == 'cooling:' then
  local left = string.format('cools %.0f', redis.call('PTTL', KEYS[1]))
  local told = 0
  for _, each in ipairs(is_small(queue, 8) and try('ZRANGE', queue, 0, 7) or {}) do
    if told < 2 and #each <= 64 and (tell(each, left) or 0) > 0 then told = told + 1 end
  end
end
-- The list of readers has one member more than there are readers: see readers.lua and slots.lua.
local slots = head and string.match(head, '^shared:p%x%x(%x%x)')
local small = slots and is_small(prefix .. 'readers', 1024, 1024)
local taken = small and try('ZRANGEBYSCORE', prefix .. 'readers', '(' .. string.format('%.0f', clock),
                            '+inf', 'LIMIT', 0, 256)
local free = kind == 'none' or (taken and #taken <= tonumber(slots, 16))
if head and not slots and string.sub(head, 1, 7) == 'shared:' then hand_on(nil, nil, reads, true) end
if not free then return {'held'} end
local function fits(waiter)
  return string.match(waiter, '^p00(%x%x)') == slots
end
return {'free', standing_turn() or hand_on(nil, nil, slots and fits) or ''}
