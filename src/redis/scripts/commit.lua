-- SPDX-License-Identifier: MIT
--
-- Raises the fencing number of a grant if the servers' own counters differ. Says yes only if this very
-- call raised it, and only if the counter was written since the server started: the counter of a
-- restarted server may be older than numbers already given out.
--
-- KEYS[1]  the lock
-- KEYS[2]  the holder hash
-- KEYS[3]  the fence hash
-- ARGV[1]  our token
-- ARGV[2]  the number
--
-- {'committed'}, or {'not_committed', last number or '0'}
-- The script reads no value longer than any of ours: it asks for sizes first, where the user may.
local function long(size)
  return type(size) == 'number' and size > 1024
end
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or long(redis.pcall('STRLEN', KEYS[1])) or
   redis.call('GET', KEYS[1]) ~= ARGV[1] or long(redis.pcall('HSTRLEN', KEYS[3], 'value')) or
   long(redis.pcall('HSTRLEN', KEYS[3], 'run_id')) then
  return {'not_committed', '0'}
end
local run_id = ''
local about = redis.pcall('INFO', 'server')
if type(about) == 'string' then run_id = string.match(about, 'run_id:(%w+)') or '' end

local last = redis.call('HMGET', KEYS[3], 'value', 'run_id')
-- It replaces nothing but a number, and acquire.lua could go on from it.
local before = last[1] and #last[1] <= 16 and string.match(last[1], '^%d+$')
if not before then return {'not_committed', '0'} end
local now = redis.pcall('TIME')
local time = now[1] and now[1] * 1000 + math.floor(now[2] / 1000) or 0
if last[2] ~= run_id or tonumber(before) >= tonumber(ARGV[2]) or
   ARGV[2] - time > 10000000000000 then
  return {'not_committed', before}
end
redis.call('HSET', KEYS[3], 'value', ARGV[2])
redis.pcall('HSET', KEYS[2], 'fence:' .. ARGV[1], ARGV[2])
-- If the hash expired before the lock, or somebody deleted it, this is a new one that never expires.
if redis.pcall('PTTL', KEYS[2]) == -1 then
  local left = redis.pcall('PTTL', KEYS[1])
  left = type(left) == 'number' and math.max(left, 0) or 0
  redis.pcall('PEXPIRE', KEYS[2], string.format('%.0f', left + 10000))
end
return {'committed'}
