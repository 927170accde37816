-- SPDX-License-Identifier: MIT
--
-- Goes before a renewal and after a repair, best effort: our hold counts for another life, and the holder hash lives
-- on if it belongs to this lock, and names a process that still holds it.
--
-- KEYS[1]  the holder hash, and of an exclusive lock no other key, as in renew.lua
-- KEYS[2]  of a reader: the lock. Its record becomes ours: the one that stands there may be that of a reader that died
-- ARGV[1]  the lock's token, ARGV[2] our hold
-- ARGV[3]  how long it counts, in ms: as long as the lock lives
-- ARGV[4]  the hash's time to live at least, in ms: that of the lock and 10 s
-- ARGV[5]  while the lock lives longer because of a minimum hold: the ttl, in ms, else ''. look.lua tells by it when
--          the holder renewed the lock, and later by our hold
-- ARGV[6]  of a process that joined: who it is, as JSON. It is the holder once the one that took the lock has left it
--
-- {'held'}, {'missing'}
--include field

local token, lease = ARGV[1], tonumber(ARGV[5])
local who = field(KEYS[1], token, 8192)
if who == '' then return {'missing'} end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
local holds = string.gsub(field(KEYS[1], 'holds:' .. token, 65536), ' ?' .. ARGV[2] .. ' %d+', '')
-- At maxmemory, Redis refuses HSET until the script has sent a write that needs no memory.
redis.pcall('HDEL', KEYS[1], lease and '' or 'lease:' .. token)
if ARGV[6] and not string.find(holds, token, 1, true) then
  who = ARGV[6]
  redis.pcall('HSET', KEYS[1], token, who)
end
local lock = KEYS[2] and redis.pcall('GETRANGE', KEYS[2], 0, 1023)
local shared = type(lock) == 'string' and string.match(lock, '^shared:%S+$')
if shared then redis.pcall('HSET', KEYS[1], shared, who) end
holds = holds .. ' ' .. ARGV[2] .. string.format(' %.0f', clock + ARGV[3])
-- It notes no more holds than a script would read.
if #holds <= 65536 then redis.call('HSET', KEYS[1], 'holds:' .. token, holds) end
if lease then redis.call('HSET', KEYS[1], 'lease:' .. token, string.format('%.0f', clock + lease)) end
return {'held'}
