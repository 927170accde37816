-- SPDX-License-Identifier: MIT
--
-- A waiter leaves the line, or somebody has freed the lock. If the lock is free and nobody has the turn,
-- the first waiter gets it.
--
-- KEYS[1]  the lock, which this script only reads
-- KEYS[2]  the queue, KEYS[3] alive, KEYS[4] the waiters, KEYS[5] the turn: see line.lua
-- ARGV[1]  the waiter that leaves; '': nobody does
--
-- {'held'}: the lock is held. If it only cools, the first two waiters learn for how long
-- {'free', the waiter that has the turn now, or ''}
local queue, alive, waiters, turn = KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
--include line
--include turn
if ARGV[1] ~= '' then
  forget(ARGV[1])
  if try('GETRANGE', turn, 0, 63) == ARGV[1] then try('DEL', turn) end
end

local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'string' and redis.call('GETRANGE', KEYS[1], 0, 7) == 'cooling:' then
  local left = string.format('cools %.0f', redis.call('PTTL', KEYS[1]))
  for _, each in ipairs(try('ZRANGE', queue, 0, 1) or {}) do tell(each, left) end
end
if kind ~= 'none' then return {'held'} end
return {'free', standing_turn() or hand_on() or ''}
