-- SPDX-License-Identifier: MIT
--
-- Says whether the owner of a lock has released it by its token: leave.lua notes that. Changes nothing.
--
-- KEYS[1]  the fence hash
-- ARGV[1]  the lock's token
--
-- {'released'}, {'missing'}
-- Notes longer than any of ours do not count. The script asks for their size first, where it may.
local size = redis.pcall('HSTRLEN', KEYS[1], 'released')
local notes = not (type(size) == 'number' and size > 8192) and redis.call('HGET', KEYS[1], 'released')
if not notes or #notes > 8192 then return {'missing'} end
return {string.find(' ' .. notes, '[ ~]' .. ARGV[1] .. ' %d') and 'released' or 'missing'}
