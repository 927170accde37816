-- SPDX-License-Identifier: MIT
--
-- Removes us from the readers, even if the lock was revoked: we never got this lock, or have lost it. The
-- last reader deletes the lock. (leave_shared.lua releases a lock that we got.)
--
-- KEYS[1]  the lock
-- KEYS[2]  the readers: see readers.lua
-- KEYS[3]  the holder hash
-- ARGV[1]  our token
--
-- {'released'}, {'missing'}: others may read, {'not_mine', value}
local token, readers, holder = ARGV[1], KEYS[2], KEYS[3]
--include field
--include sizes
--include readers
--include exit

if ends then
  exit()
  if ours then return {'released'} end
end
if kind == 'none' or shared or ends then return {'missing'} end
return {'not_mine', value}
