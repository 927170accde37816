-- SPDX-License-Identifier: MIT
--
-- Lists the waiters in the queue of a lock. Changes nothing.
--
-- KEYS[1] to KEYS[3]  queue, alive and waiters: see queue.lua; no other key, as a user that reads locks may lack
--                     the permission for these
--
-- {'waiting', how many count, {waiter, for how many ms, who or ''}, …}: the first 20 that count, in their order
--include sizes
--include field
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
-- Few records have expired: each request of a waiter removes some of them.
local expired = is_small(KEYS[2], 1000) and
                redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', clock, 'LIMIT', 0, 1000) or {}
local answer = {'waiting', redis.call('ZCARD', KEYS[2]) - #expired}
local queue = is_small(KEYS[1], 1000) and redis.call('ZRANGE', KEYS[1], 0, 999, 'WITHSCORES') or {}
for at = 1, #queue, 2 do
  local ends = tonumber(redis.call('ZSCORE', KEYS[2], queue[at]) or 0)
  if ends > clock then
    local waited = string.format('%.0f', math.max(clock - queue[at + 1], 0))
    answer[#answer + 1] = {string.sub(queue[at], 1, 64), waited, field(KEYS[3], queue[at], 8192)}
    if #answer == 22 then break end
  end
end
return answer
