-- SPDX-License-Identifier: MIT
--
-- Puts a waiter into the queue, for the scripts that include it behind queue.lua. Returns whether it
-- stands there now.
--
-- A waiter that was killed never leaves: each request of another one removes some expired records. A
-- record that lasts too long comes from a time before the clock was set back.
local function enqueue(waiter, who, ticket)
  local ends = string.format('%.0f', clock + life)
  for _, each in ipairs(try('ZRANGEBYSCORE', alive, '-inf', clock, 'LIMIT', 0, 32) or {}) do
    forget(each)
  end
  for _, each in ipairs(try('ZRANGEBYSCORE', alive, '(' .. ends, '+inf', 'LIMIT', 0, 8) or {}) do
    try('ZADD', alive, ends, each)
  end
  local stands = try('ZADD', queue, 'NX', ticket, waiter) and try('ZADD', alive, ends, waiter)
  try('HSET', waiters, waiter, who)
  try('HDEL', waiters, 'mark:' .. waiter)
  for _, key in ipairs({queue, alive, waiters}) do try('PEXPIRE', key, life) end
  return stands
end
