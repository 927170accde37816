-- SPDX-License-Identifier: MIT
--
-- Refuses us if the lock is held in another way.
--
-- fits  the lock is shared by holders of our kind
if kind ~= 'none' and (revoked or not fits) then
  local holder = value:match('^cooling:(.*)') or value:match('^revoked:(%S+)') or value
  return refuse('refused', value, redis.call('PTTL', KEYS[1]), field(KEYS[2], holder, 8192))
end
