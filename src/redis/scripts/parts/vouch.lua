-- SPDX-License-Identifier: MIT
--
-- What the acquire scripts have in common before they decide: the list of holds, the server's life and role, the
-- last fencing number. Ends the script if this server cannot vouch for the lock.
--
-- ours  the lock holds our token already
local list = ours and field(KEYS[2], 'holds:' .. ARGV[1], 65536) or ''
local holds = list
-- Nobody joins a maintenance hold: the run that left it has failed.
if joins and (not ours or field(KEYS[2], ARGV[1], 8192):find('"maintenance":1')) then
  return refuse('refused', '', -2)
end
if joins or not ours then
  holds = list:gsub(' ?' .. hold .. ' %d+', '') .. ' ' .. hold ..
          (' %.0f'):format(clock + ARGV[2])
end
-- If this script cannot read the list of holds, it cannot add ours: the lock would end when another holder
-- gives up its hold. The same goes for a list so long that no script would read it. That is an error: after a
-- refusal we would wait for the lock of our own ancestor.
if joins and (list == '' or #holds > 65536) then
  return redis.pcall('HGET', KEYS[2], hold) or {err = 'HOLDS list missing or too long'}
end

-- A user without permission for INFO can recognize neither the server nor its age.
local about = try('INFO', 'server') or ''
-- A pattern that begins with ^ is tried at one place, and finding that place in the text is fast.
local function told(name, pattern)
  return about:match('^' .. name .. pattern, about:find(name))
end
local run_id = told('run_id:', '(%w+)') or ''
local age = tonumber(told('uptime_in_seconds:', '(%-?%d+)')) or 0
local away = replica()
if away then return away end

-- A number must be able to grow. Numbers begin at a clock and rise by one. If a number is far ahead of the
-- clock (10^13 ms are 317 years), somebody put it there, and it may be near the largest number.
local size = try('HSTRLEN', KEYS[3], 'value') or 0
local last = size > 1024 and {size .. ' bytes'} or redis.pcall('HMGET', KEYS[3], 'value')
if last.err then
  last = {last.err:find('WRONGTYPE') and 'type:' .. redis.call('TYPE', KEYS[3]).ok}
end
local before = 0
if last[1] then
  before = #last[1] <= 16 and tonumber(last[1]:match('^%d+$')) or 2 ^ 53
  if before - clock > 1e13 then before = false end
end
if not before and not ours then return {'unusable', last[1]:sub(1, 40)} end

local trace = not last[1] and 'none' or
              run_id ~= '' and field(KEYS[3], 'run_id', 64) == run_id and 'present' or 'earlier'
local grace = tonumber(ARGV[4])
-- The uptime is a difference of two times of day. If it is negative, the clock was set back since the start: then it
-- counts from the first question that found it negative, also when the clock has caught up.
if age <= grace and last[1] then
  local first = tonumber(field(KEYS[3], run_id, 16)) or clock
  if age < 0 and first >= clock then try('HSET', KEYS[3], run_id, stamp) end
  age = math.max(age, math.floor((clock - first) / 1000))
end
if grace > 0 and not ours and trace == 'earlier' and run_id ~= '' and age < grace + 1 then
  return {'fresh', age}
end
