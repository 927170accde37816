-- SPDX-License-Identifier: MIT
--
-- A waiter joins the line or leaves it; and if the lock is free and nobody has the turn, the first
-- waiter gets it.
--
-- KEYS[1]  the lock, which this script only reads
-- KEYS[2]  the queue, KEYS[3] alive, KEYS[4] the waiters, KEYS[5] the turn: see line.lua
-- ARGV[1]  the name of the wake-up channels, up to the waiter at its end
-- and only to join or leave:
-- ARGV[2]  the waiter
-- ARGV[3]  who it is, as JSON: it joins, or renews its record and keeps its place; '': it leaves
-- ARGV[4]  to join: its ticket
--
-- {'joined', our place, how many wait}: this wakes no waiter
-- {'held'}: the lock is held. If it only cools, the first two waiters learn for how long
-- {'free', the waiter that has the turn now, or ''}
local queue, alive, waiters, turn, channels = KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[1]
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
--include line

local waiter, who = ARGV[2], ARGV[3]
if waiter and who ~= '' then return {'joined', stand_in_line(waiter, who, ARGV[4])} end

if waiter then
  forget(waiter)
  if try('GETRANGE', turn, 0, 63) == waiter then try('DEL', turn) end
end

local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'string' and redis.call('GETRANGE', KEYS[1], 0, 7) == 'cooling:' then
  local left = redis.call('PTTL', KEYS[1])
  for _, each in ipairs(try('ZRANGE', queue, 0, 1) or {}) do
    try('PUBLISH', channels .. each, string.format('cools %.0f', left))
  end
end
if kind ~= 'none' then return {'held'} end
return {'free', standing_turn() or hand_on() or ''}
