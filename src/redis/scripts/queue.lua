-- SPDX-License-Identifier: MIT
--
-- The queue of the lock's waiters: a waiter joins it or leaves it; and if the lock is free, this script
-- wakes the first waiter. Decides nothing: a waiter that wakes up asks for the lock like any other.
--
-- KEYS[1]  the lock, which this script only reads
-- KEYS[2]  the queue: waiter → when it joined, in ms by this server's clock
-- KEYS[3]  the waiters hash: waiter → when its record expires, and its identity
-- ARGV[1]  the name of the wake-up channels, up to the waiter at its end
-- and only to join or leave:
-- ARGV[2]  the waiter
-- ARGV[3]  who it is, as JSON: it joins, or renews its record and keeps its place; '': it leaves
--
-- {'joined', our place, how many wait}: counts the first 32; place 0: we are behind them
-- {'held'}: the lock is held, and this script wakes no waiter; {'free', how many it woke}
local life = 20000
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
local waiter, who = ARGV[2], ARGV[3]

local function counts(each)
  -- It reads no record longer than any of ours. It asks for the size first, where the user may.
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
  -- A waiter that was killed never leaves. Each newcomer removes expired records, so there are no more
  -- of them than waiters that joined while one record counts.
  for _, each in ipairs(new and redis.call('ZRANGE', KEYS[2], 0, 999) or {}) do
    if not counts(each) then forget(each) end
  end
  -- Joining wakes no waiter: one that finds the lock free and does not get it would wake itself for
  -- ever.
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

-- The first waiter asks at once. The second one asks a little later, in case the first is stopped or
-- dead. A waiter without a subscription asks by itself. However many wait, it calls at most 32.
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
