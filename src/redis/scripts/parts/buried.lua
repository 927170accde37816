-- SPDX-License-Identifier: MIT
--
-- What the scripts that acquire have in common about the tombstone, which names one or more tokens: those of a
-- lock that somebody deleted by force, and those that their owner released while a request for them may have
-- been on its way.
--
-- ours: the lock has our token
local buried = not ours and read(KEYS[4], 65536)
if type(buried) == 'string' and string.find(buried, ARGV[1], 1, true) then
  return refuse('refused', 'revoked:' .. ARGV[1], -2)
end
