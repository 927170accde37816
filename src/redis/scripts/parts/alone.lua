-- SPDX-License-Identifier: MIT
--
-- How acquire.lua and acquire_newest.lua begin: what is in the lock's key, and the mark of --once.
local now = redis.pcall('TIME')
local clock = now[1] and now[1] * 1000 + math.floor(now[2] / 1000) or 0
--include asked

-- TYPE answers with a status, which is a table in Lua. A key of another type is another program's.
local kind = redis.call('TYPE', KEYS[1]).ok
local value = kind == 'string' and read(KEYS[1], 1024)
if type(value) == 'table' then return value end
local ours = value == ARGV[1]

local period = tonumber(ARGV[11]) or 0
if period > 0 and (not ours or joins) then
  local mark = read(KEYS[5], 8192)
  local began, who = (type(mark) == 'string' and mark or ''):match('^(%d+) (.*)$')
  local age = began and clock - began
  -- A mark from the future comes from a clock that was set back since: it counts, but not indefinitely.
  if age and age < period and age > -period then
    return {'done', math.max(age, 0), redis.call('PTTL', KEYS[5]), #who <= 8192 and who or ''}
  end
end
