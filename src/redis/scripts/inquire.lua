-- SPDX-License-Identifier: MIT
--
-- Says whether the owner of a lock has released it by its token, as leave.lua notes. Changes nothing.
--
-- KEYS[1]  the fence hash
-- ARGV[1]  the lock's token
--
-- {'released'}, {'missing'}
local size = redis.pcall('HSTRLEN', KEYS[1], 'released')
local notes = not (type(size) == 'number' and size > 8192) and redis.call('HGET', KEYS[1], 'released')
if not notes or #notes > 8192 then return {'missing'} end
return {string.find(' ' .. notes, '[ ~]' .. ARGV[1] .. ' %d') and 'released' or 'missing'}
