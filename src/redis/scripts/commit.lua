-- SPDX-License-Identifier: MIT
--
-- Raises the fencing number of a grant where the servers' own counters differ. Says yes only if this
-- very call raised it, and only where the counter is one of the server's present life: what a
-- restarted server remembers may be older than numbers already given out.
--
-- KEYS[1]  the lock
-- KEYS[2]  the holder hash
-- KEYS[3]  the fence hash
-- ARGV[1]  our token
-- ARGV[2]  the number
--
-- {'committed'}, or {'not_committed', last number or '0'}
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'not_committed', '0'}
end
local run_id = ''
local about = redis.pcall('INFO', 'server')
if type(about) == 'string' then run_id = string.match(about, 'run_id:(%w+)') or '' end

local last = redis.call('HMGET', KEYS[3], 'value', 'run_id')
if not last[1] then return {'not_committed', '0'} end
if last[2] ~= run_id or tonumber(last[1]) >= tonumber(ARGV[2]) then
  return {'not_committed', last[1]}
end
redis.call('HSET', KEYS[3], 'value', ARGV[2])
redis.pcall('HSET', KEYS[2], 'fence:' .. ARGV[1], ARGV[2])
-- If the hash had expired before the lock, or was deleted, this is a new one without an end.
if redis.pcall('PTTL', KEYS[2]) == -1 then
  local left = redis.pcall('PTTL', KEYS[1])
  left = type(left) == 'number' and math.max(left, 0) or 0
  redis.pcall('PEXPIRE', KEYS[2], string.format('%.0f', left + 10000))
end
return {'committed'}
