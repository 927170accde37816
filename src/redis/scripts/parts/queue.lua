-- SPDX-License-Identifier: MIT
--
-- The queue of waiters. The order of tickets is the order of service. Exclusion never rests on it: it only adds
-- refusals, and each of them ends by itself. All that use it need these locals:
--   prefix  the beginning of the names of its keys and channels
--   clock   this server's clock, in ms
--
-- Its keys stand at the end of KEYS, since some servers refuse a script that touches other keys. No script looks for
-- them there: a server refuses a script to a user without permission for one of KEYS. Such a user can lock all the
-- same, by the script without them in KEYS.
--
-- queue: waiter → ticket. alive: waiter → until when it counts, in ms by this server's clock: for 20 s from its
-- last request, or for 500 ms from a call since then. waiters: waiter → who it is, as JSON. turn: the waiter
-- that has the turn.
local queue, alive, waiters, turn = prefix .. 'queue', prefix .. 'alive', prefix .. 'waiters', prefix .. 'turn'
local life = 20000
--include sizes

-- Where the user lacks a permission, or another program uses a key, there is no queue.
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
end

local function forget(waiter)
  try('ZREM', alive, waiter)
  try('HDEL', waiters, waiter)
  return try('ZREM', queue, waiter) or 0
end

-- A large key would keep the other clients waiting.
local function unlink(key)
  if not try('UNLINK', key) then try('DEL', key) end
end

-- We asked just now.
local function count_again(waiter)
  try('ZADD', alive, 'XX', clock + life, waiter)
end
