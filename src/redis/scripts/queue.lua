-- SPDX-License-Identifier: MIT
--
-- The queue of those who wait for the lock: one joins it or leaves it; and if the lock is free, who is
-- first in it is woken. Decides nothing: who is woken asks for the lock as anybody does.
--
-- KEYS[1]  the lock, which is only looked at
-- KEYS[2]  the queue: waiter → when it joined, in ms by this server's clock
-- KEYS[3]  the waiters hash: waiter → until when it counts, and who it is
-- ARGV[1]  the channels' name but for the waiter at its end
-- and for who joins or leaves, else neither:
-- ARGV[2]  the waiter
-- ARGV[3]  who it is, as JSON: it joins, or is heard of again and keeps its place; '': it leaves
--
-- {'joined', our place, how many wait}: of the first 32, place 0: behind them; {'held'}: by somebody, nobody is woken; {'free', how many were woken}
local life = 20000
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
local waiter, who = ARGV[2], ARGV[3]

local function counts(each)
  -- A record longer than any of ours is not read. Its size is asked first, where that is permitted.
  local size = redis.pcall('HSTRLEN', KEYS[3], each)
  local long = type(size) == 'number' and size > 8300
  local record = not long and redis.call('HGET', KEYS[3], each) or ''
  local ends = tonumber(string.match(record, '^(%d+) '))
  return ends and ends > clock and ends <= clock + life
end

local function forget(gone)
  redis.call('ZREM', KEYS[2], gone)
  redis.call('HDEL', KEYS[3], gone)
end

if waiter and who ~= '' then
  local new = redis.call('ZADD', KEYS[2], 'NX', clock, waiter) == 1
  redis.call('HSET', KEYS[3], waiter, string.format('%.0f ', clock + life) .. who)
  redis.call('PEXPIRE', KEYS[2], life)
  redis.call('PEXPIRE', KEYS[3], life)
  -- Who was killed never leaves. Each newcomer sweeps, so that there are no more of them than came in
  -- the time that they count.
  for _, each in ipairs(new and redis.call('ZRANGE', KEYS[2], 0, 999) or {}) do
    if not counts(each) then forget(each) end
  end
  -- Not woken here: who finds the lock free and does not get it would be so again and again.
  local place, length = 0, 0
  for _, each in ipairs(redis.call('ZRANGE', KEYS[2], 0, 31)) do
    if counts(each) then
      length = length + 1
      if each == waiter then place = length end
    end
  end
  return {'joined', place, length}
end

if waiter then forget(waiter) end
if redis.call('TYPE', KEYS[1]).ok ~= 'none' then return {'held'} end

-- The first one asks at once, the second one a little later, should the first be stopped or dead. Who
-- does not listen asks by itself. However many wait, only so many of them are called.
local called, woken = 0, 0
for _, each in ipairs(redis.call('ZRANGE', KEYS[2], 0, 999)) do
  if not counts(each) then
    forget(each)
  else
    called = called + 1
    local heard = redis.call('PUBLISH', ARGV[1] .. each, woken == 0 and 'free' or 'next')
    if heard > 0 then woken = woken + 1 end
    if woken == 2 or called == 32 then break end
  end
end
return {'free', woken}
