-- SPDX-License-Identifier: MIT
--
-- Ends a repair if the owner has released the lock here by its token, or the tombstone has our token.
--include field
if string.find(' ' .. field(KEYS[3], 'released', 8192), '[ ~]' .. ARGV[1] .. ' %d') then
  return {'released'}
end

local short = (tonumber(redis.pcall('STRLEN', KEYS[4])) or 0) <= 65536
local buried = short and redis.pcall('GET', KEYS[4])
if type(buried) == 'string' and buried:find(ARGV[1], 1, true) then
  return {'refused', 'revoked:' .. ARGV[1], -2, '', '0'}
end
