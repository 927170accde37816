-- SPDX-License-Identifier: MIT
--
-- Goes before a renewal and after a repair, best effort: our hold counts for another life, and the holder hash lives
-- on if it belongs to this lock.
--
-- KEYS[1]  the holder hash, and no other key, as in renew.lua
-- ARGV[1]  the lock's token, ARGV[2] our hold
-- ARGV[3]  how long it counts, in ms: as long as the lock lives
-- ARGV[4]  the hash's time to live at least, in ms: that of the lock and 10 s
-- ARGV[5]  only while the lock lives longer because of a minimum hold: the ttl, in ms. look.lua tells by it when the
--          holder renewed the lock, and later by our hold
--
-- {'held'}, {'missing'}
--include field

if field(KEYS[1], ARGV[1], 8192) == '' then return {'missing'} end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
local holds = string.gsub(field(KEYS[1], 'holds:' .. ARGV[1], 65536), ' ?' .. ARGV[2] .. ' %d+', '')
holds = holds .. ' ' .. ARGV[2] .. string.format(' %.0f', clock + ARGV[3])
-- At maxmemory, Redis refuses HSET until the script has sent a write that needs no memory.
redis.pcall('HDEL', KEYS[1], ARGV[5] and '' or 'lease:' .. ARGV[1])
-- It notes no more holds than a script would read.
if #holds <= 65536 then redis.call('HSET', KEYS[1], 'holds:' .. ARGV[1], holds) end
if ARGV[5] then redis.call('HSET', KEYS[1], 'lease:' .. ARGV[1], string.format('%.0f', clock + ARGV[5])) end
return {'held'}
