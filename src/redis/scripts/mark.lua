-- SPDX-License-Identifier: MIT
--
-- Marks that a run of this name was successful, and when it began, by this server's own clock: so the mark means
-- the same however late the request arrives.
--
-- KEYS[1]  the mark
-- ARGV[1]  when the run began, in ms since 1970
-- ARGV[2]  how long the mark stays, from that time on, in ms
-- ARGV[3]  who ran, as JSON
-- ARGV[4]  only for --build: its number. Then the larger number counts, and the mark also says when it was made
--
-- {'marked'}    there is a mark of that run or of a later one, or its time is over already
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
local left = ARGV[1] + ARGV[2] - clock
local rank = ARGV[4] and ARGV[4] .. string.format(' %.0f', clock) or ARGV[1]
-- If the mark is longer than any of ours, this script reads only its head.
local size = redis.pcall('STRLEN', KEYS[1])
local head = type(size) == 'number' and size > 8192 and redis.pcall('GETRANGE', KEYS[1], 0, 1023)
local old = type(head) == 'string' and head or redis.pcall('GET', KEYS[1])
if type(old) == 'string' then
  local rival = tonumber(string.match(old, '^(%d+) ')) or 0
  if rival > tonumber(ARGV[4] or ARGV[1]) and rival < 2 ^ 53 then return {'marked'} end
  -- Each asker says how old a run may be. A later run must not shorten the period of an earlier one.
  left = math.max(left, redis.call('PTTL', KEYS[1]))
end
if left > 0 then
  -- At maxmemory, Redis refuses SET until the script has sent a write that needs no memory.
  redis.pcall('PEXPIRE', KEYS[1], string.format('%.0f', left))
  redis.call('SET', KEYS[1], rank .. ' ' .. ARGV[3], 'PX', string.format('%.0f', left))
end
return {'marked'}
