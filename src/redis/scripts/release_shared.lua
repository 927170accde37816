-- SPDX-License-Identifier: MIT
--
-- As release.lua, for a reader: removes us from the readers. The last reader deletes the lock.
--
-- KEYS[1] to KEYS[3]  the lock, the readers (see readers.lua), the holder hash
-- ARGV[1]  our token
--
-- {'released'}, {'missing'}: others may read, {'not_mine', value}
local token, readers, holder = ARGV[1], KEYS[2], KEYS[3]
--include field
--include sizes
--include readers
--include last
--include exit

if ends then
  exit()
  if ours then return {'released'} end
end
if kind == 'none' or shared or ends then return {'missing'} end
return {'not_mine', value}
