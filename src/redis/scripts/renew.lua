-- SPDX-License-Identifier: MIT
--
-- Sets the time to live of our lock back to its full length. Never shortens it: others may have asked for more.
--
-- KEYS[1]  the lock, and no other key: while a cluster moves a slot, it answers a script on two keys with TRYAGAIN
-- ARGV[1]  our token
-- ARGV[2]  the time to live, in ms: the ttl, or the rest of the minimum hold, whichever is longer
--
-- {'renewed'}, {'renewed', pttl}: it lives more than 1 s longer than ARGV[2], see cut.lua
-- {'missing'}, {'not_mine', value}    value: as in acquire.lua
--include string
local value = read(KEYS[1], 1024)
if value ~= ARGV[1] then return {'not_mine', string.sub(value or '', 1, 1024)} end
local left = redis.call('PTTL', KEYS[1])
if left > ARGV[2] + 1000 then return {'renewed', left} end
if left < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {'renewed'}
