-- SPDX-License-Identifier: MIT
--
-- Sets the time to live of our lock back to its full length. Never shortens it.
--
-- KEYS[1]  the lock, and no other key: while a cluster moves a slot, it answers a script on two keys with
--          TRYAGAIN
-- ARGV[1]  our token
-- ARGV[2]  the time to live, in ms: the ttl, or the rest of the minimum hold, whichever is longer
--
-- {'renewed'}, {'missing'}, {'not_mine', value}
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return {'missing'} end
if kind ~= 'string' then return {'not_mine', 'type:' .. kind} end

-- If the value is longer than any of ours, this script reads only its head.
local size = redis.pcall('STRLEN', KEYS[1])
local head = type(size) == 'number' and size > 1024 and redis.pcall('GETRANGE', KEYS[1], 0, 1023)
local value = type(head) == 'string' and head or redis.call('GET', KEYS[1])
if value ~= ARGV[1] then return {'not_mine', string.sub(value or '', 1, 1024)} end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {'renewed'}
