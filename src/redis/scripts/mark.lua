-- SPDX-License-Identifier: MIT
--
-- Marks that a run of this name was successful, and when it began, by this server's own clock: so the mark means
-- the same however late the request arrives, as far as the client knows that clock. The mark of a later run stays as
-- it is, and so does that of a larger build. A new mark does not expire before the one that it replaces. But a mark of
-- a run that began later than now, by this clock, gives way, and its expiry does not count.
--
-- KEYS[1]  the mark
-- ARGV[1]  when the run began, in ms since 1970, as far as the client knows this server's clock; '': it does not
-- ARGV[2]  how long the mark stays, from that time on, in ms
-- ARGV[3]  who ran, as JSON
-- ARGV[4]  how long ago the run began, in ms; more if the request is late. The clock may have been set back since then
-- ARGV[5]  only for --build: its number. Then the larger number counts, and the mark also says when it was made
--
-- {'marked'}    there is a mark of that run or of a later one, or its time is over already
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
local latest = clock - ARGV[4]
local began = math.min(tonumber(ARGV[1]) or latest, latest)
local left = began + ARGV[2] - clock
local build = tonumber(ARGV[5])
local rank = build and ARGV[5] .. ' ' .. clock or began
-- If the mark is longer than any of ours, this script reads only its head.
local size = redis.pcall('STRLEN', KEYS[1])
local head = type(size) == 'number' and size > 8192 and redis.pcall('GETRANGE', KEYS[1], 0, 1023)
local old = type(head) == 'string' and head or redis.pcall('GET', KEYS[1])
if type(old) == 'string' then
  local rival = tonumber(old:match('^(%d+) ')) or 0
  -- The mark of a run that has not begun yet is from before the clock was set back.
  local ahead = not build and rival > clock
  if rival > (build or began) and rival < 2 ^ 53 and not ahead then return {'marked'} end
  -- Each asker says how old a run may be. A later run must not shorten the period of an earlier one.
  if not ahead then left = math.max(left, redis.call('PTTL', KEYS[1])) end
end
if left > 0 then
  -- At maxmemory, Redis refuses SET until the script has sent a write that needs no memory.
  redis.pcall('PEXPIRE', KEYS[1], left)
  redis.call('SET', KEYS[1], rank .. ' ' .. ARGV[3], 'PX', left)
end
return {'marked'}
