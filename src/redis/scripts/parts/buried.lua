-- SPDX-License-Identifier: MIT
--
-- Refuses us if the tombstone names our token: somebody deleted its lock by force, or its owner released it
-- while a request for it may have been on its way.
--
-- ours  the lock has our token
local buried = not ours and read(KEYS[4], 65536)
if type(buried) == 'string' and buried:find(ARGV[1], 1, true) then
  return refuse('refused', 'revoked:' .. ARGV[1], -2)
end
