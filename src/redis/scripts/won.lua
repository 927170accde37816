-- SPDX-License-Identifier: MIT
--
-- A waiter with --newest has got the lock: see acquire_newest.lua. It is about to leave the queue.
--
-- KEYS[1]  the lock, which this script does not touch: it has the queue's slot
-- ARGV[1]  the beginning of the names of the queue's keys: see queue.lua
-- ARGV[2]  the waiter
--
-- {'held'}, as hand_on.lua
local newest = ARGV[1] .. 'newest'
local text = (tonumber(redis.pcall('STRLEN', newest)) or 0) <= 8192 and redis.pcall('GET', newest)
local head, who = string.match(type(text) == 'string' and text or '', '^(%d+ %d+ ' .. ARGV[2] .. ') waits (.*)$')
if head then redis.pcall('SET', newest, head .. ' has ' .. who, 'PX', 2592000000) end
return {'held'}
