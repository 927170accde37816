-- SPDX-License-Identifier: MIT
--
-- The line of waiters, for the scripts that include it. The order of tickets is the order of service.
-- Exclusion never rests on it: it only adds refusals, and each of them ends by itself.
--
-- stand.lua puts a waiter into it, turn.lua says who has the turn, and gives it to the next one. All
-- need these locals:
--   queue    the queue: waiter → ticket
--   alive    waiter → until when its record counts, in ms by this server's clock: 20 s from its last
--            request
--   waiters  waiter → who it is, as JSON; and 'mark:WAITER', if it had its turn and has not asked since
--   turn     the waiter that has the turn
--   clock    this server's clock, in ms
local life = 20000

-- Where the user lacks a permission, or another program uses a key, there is no line.
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
end

local function forget(waiter)
  try('ZREM', queue, waiter)
  try('ZREM', alive, waiter)
  try('HDEL', waiters, waiter, 'mark:' .. waiter)
end
