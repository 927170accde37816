-- SPDX-License-Identifier: MIT
--
-- Remembers that a run on a host gave up because another one had the lock, if this server has the lock's number: it
-- must not keep a key for the lock of another program. No client waits for it.
--
-- KEYS[1]  the fence hash
-- ARGV[1]  the host, without blanks
-- ARGV[2]  JSON: the run that gave up, and the holder of the lock
--
-- The field `refused` lists up to 32 hosts, the latest first; `refused:HOST` has the number of its runs that
-- gave up, the time of the last one, and ARGV[2].
--include field
if field(KEYS[1], 'value', 16) == '' then return 0 end
local time = redis.pcall('TIME')
local clock = time[1] and time[1] * 1000 + math.floor(time[2] / 1000) or 0
local hosts, number = ARGV[1], 1
for host in string.gmatch(field(KEYS[1], 'refused', 4096), '%S+') do
  if host ~= ARGV[1] and number < 32 then
    hosts, number = hosts .. ' ' .. host, number + 1
  elseif host ~= ARGV[1] then
    redis.pcall('HDEL', KEYS[1], 'refused:' .. host)
  end
end
local mine = 'refused:' .. ARGV[1]
local count = tonumber(string.match(field(KEYS[1], mine, 2048), '^(%d%d?%d?%d?%d?%d?) ')) or 0
redis.pcall('HSET', KEYS[1], 'refused', hosts)
redis.pcall('HSET', KEYS[1], mine, string.format('%.0f %.0f ', math.min(count + 1, 999999), clock) .. ARGV[2])
redis.pcall('PEXPIRE', KEYS[1], 2592000000)
return 1
