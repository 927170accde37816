-- SPDX-License-Identifier: MIT
--
-- Puts a waiter into the queue, and returns whether it stands there now. A waiter that was killed never leaves:
-- each request of another one removes some expired records. A record that lasts too long comes from a time before
-- the clock was set back.
local function enqueue(waiter, who, ticket)
  local ends = string.format('%.0f', clock + life)
  local function sweep(from, to, most, f)
    local some = try('ZRANGEBYSCORE', alive, from, to, 'LIMIT', 0, most) or {}
    for _, each in ipairs(some) do
      if #each > 64 then return clear() end
      f(each)
    end
    return #some == most
  end
  local more, swept = true, 0
  while more and swept < 32 do more, swept = sweep('-inf', clock, 8, forget), swept + 8 end
  sweep('(' .. ends, '+inf', 8, function(each) try('ZADD', alive, ends, each) end)
  local stands = try('ZADD', queue, 'NX', ticket, waiter) and try('ZADD', alive, ends, waiter)
  try('HSET', waiters, waiter, who)
  -- redlock 0.1 gives no turn to a waiter that has this field.
  try('HDEL', waiters, 'mark:' .. waiter)
  for _, key in ipairs({queue, alive, waiters}) do try('PEXPIRE', key, life) end
  return stands
end
