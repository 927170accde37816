-- SPDX-License-Identifier: MIT
--
-- Lists the waiters in the queue of a lock. Changes nothing.
--
-- KEYS[1]  the queue, KEYS[2]  the waiters hash, as in queue.lua: no other key, as a user that reads
--          locks may lack the permission for these
--
-- {'waiting', how many, {waiter, for how many ms, who or ''}, …}: the first 20, in their order; the
--     script counts the others up to 1000
local life = 20000
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {'waiting', 0}
local queue = redis.call('ZRANGE', KEYS[1], 0, 999, 'WITHSCORES')
for at = 1, #queue, 2 do
  -- Of a record longer than any of ours, it reads only the size, where the user may: another program
  -- wrote it.
  local size = redis.pcall('HSTRLEN', KEYS[2], queue[at])
  local long = type(size) == 'number' and size > 8300
  local entry = long and string.format('%.0f ', clock + life) or redis.call('HGET', KEYS[2], queue[at])
  local ends, who = string.match(entry or '', '^(%d+) (.*)$')
  ends = tonumber(ends)
  if ends and ends > clock and ends <= clock + life then
    answer[2] = answer[2] + 1
    if answer[2] <= 20 then
      local waited = string.format('%.0f', math.max(clock - queue[at + 1], 0))
      answer[#answer + 1] = {string.sub(queue[at], 1, 64), waited, #who <= 8192 and who or ''}
    end
  end
end
return answer
