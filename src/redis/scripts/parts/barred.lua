-- SPDX-License-Identifier: MIT
--
-- What acquire_shared.lua and acquire_slot.lua have in common before they look at the queue: they refuse us
-- if the lock is held in another way, or if somebody deleted it under us by force.
--
-- fits  the lock is shared by holders of our kind
if kind ~= 'none' and (revoked or not fits) then
  local holder = string.match(value, '^cooling:(.*)') or string.match(value, '^revoked:(%S+)') or value
  return refuse('refused', value, redis.call('PTTL', KEYS[1]), field(KEYS[2], holder, 8192))
end

-- The tombstone of a shared lock names all readers.
local buried = not ours and read(KEYS[4], 65536)
if type(buried) == 'string' and string.find(buried, token, 1, true) then
  return refuse('refused', 'revoked:' .. token, -2)
end
