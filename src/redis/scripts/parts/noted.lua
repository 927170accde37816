-- SPDX-License-Identifier: MIT
--
-- Ends repair.lua or repair_shared.lua if the owner has released the lock here by its token.

local size = redis.pcall('HSTRLEN', KEYS[3], 'released')
local notes = not (type(size) == 'number' and size > 8192) and redis.pcall('HGET', KEYS[3], 'released')
if type(notes) == 'string' and #notes <= 8192 and
   string.find(' ' .. notes, '[ ~]' .. ARGV[1] .. ' %d') then
  return {'released'}
end
