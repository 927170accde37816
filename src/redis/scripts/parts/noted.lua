-- SPDX-License-Identifier: MIT
--
-- Ends a repair if the owner has released the lock here by its token, or the tombstone has our token.
--include field
if string.find(' ' .. field(KEYS[3], 'released', 8192), '[ ~]' .. ARGV[1] .. ' %d') then
  return {'released'}
end

local dead = redis.pcall('STRLEN', KEYS[4])
local long = type(dead) == 'number' and dead > 65536
local buried = not long and redis.pcall('GET', KEYS[4])
if type(buried) == 'string' and string.find(buried, ARGV[1], 1, true) then
  return {'refused', 'revoked:' .. ARGV[1], -2, '', '0'}
end
