-- SPDX-License-Identifier: MIT
--
-- The queue of waiters, for the scripts that include it. The order of tickets is the order of service.
-- Exclusion never rests on it: it only adds refusals, and each of them ends by itself.
--
-- enqueue.lua puts a waiter into it, turn.lua says who has the turn, and gives it to the next one. All
-- need these locals:
--   prefix  the beginning of the names of its keys and channels
--   clock  this server's clock, in ms
--
-- Its keys are not in KEYS: a server refuses a script to a user without permission for one of KEYS, and
-- a user without permission for the queue can lock all the same. They have the lock's slot.
--
-- queue: waiter → ticket. alive: waiter → until when its record counts, in ms by this server's clock.
-- waiters: waiter → who it is, as JSON; and 'mark:WAITER', if it had its turn and has not asked since.
-- turn: the waiter that has the turn.
local queue, alive, waiters, turn = prefix .. 'queue', prefix .. 'alive', prefix .. 'waiters', prefix .. 'turn'
local life = 20000

-- Where the user lacks a permission, or another program uses a key, there is no queue.
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
end

local function forget(waiter)
  try('ZREM', alive, waiter)
  try('HDEL', waiters, waiter, 'mark:' .. waiter)
  return try('ZREM', queue, waiter) or 0
end
