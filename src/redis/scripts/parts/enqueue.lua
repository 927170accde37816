-- SPDX-License-Identifier: MIT
--
-- Puts a waiter into the queue, and returns whether it stands there now. A waiter that was killed never leaves:
-- each request of another one removes some expired records. A record that lasts too long comes from a time before
-- the clock was set back.
local function enqueue(waiter, who, ticket)
  local ends = clock + life
  local function sweep(from, to, f)
    for _, each in ipairs(try('ZRANGEBYSCORE', alive, from, to, 'LIMIT', 0, 32) or {}) do f(each) end
  end
  if is_small(alive, 32) then sweep('-inf', clock, forget) end
  local stands = try('ZADD', queue, 'NX', ticket, waiter) and try('ZADD', alive, ends, waiter)
  if is_small(alive, 1024, 1024) then sweep('(' .. ends, '+inf', function(each) try('ZADD', alive, ends, each) end) end
  try('HSET', waiters, waiter, who)
  -- redlock 0.1 gives no turn to a waiter that has this field.
  try('HDEL', waiters, 'mark:' .. waiter)
  -- At the end of its life a server deletes a key in one piece. A member takes some 60 bytes at least.
  for _, key in ipairs({queue, alive, waiters}) do
    if (try('MEMORY', 'USAGE', key, 'SAMPLES', 32) or 0) > 2e6 then unlink(key) end
    try('PEXPIRE', key, life)
  end
  return stands
end
