-- SPDX-License-Identifier: MIT
--
-- What the commit scripts have in common once they know that the lock holds our token.
for _, name in ipairs({'value', 'run_id'}) do
  if (tonumber(redis.pcall('HSTRLEN', KEYS[3], name)) or 0) > 1024 then return {'not_committed', '0'} end
end
local run_id = ''
local about = redis.pcall('INFO', 'server')
if type(about) == 'string' then
  run_id = about:match('^run_id:(%w+)', about:find('run_id:')) or ''
end

local last = redis.call('HMGET', KEYS[3], 'value', 'run_id')
-- It replaces nothing but a number, and acquire.lua could go on from it.
local before = last[1] and #last[1] <= 16 and last[1]:match('^%d+$')
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
  redis.pcall('PEXPIRE', KEYS[2], ('%.0f'):format(left + 10000))
end
return {'committed'}
