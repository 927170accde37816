-- SPDX-License-Identifier: MIT
--
-- Gives up a hold of our place among the readers. If no other hold is left, removes us, even if the lock was
-- revoked, and the last reader deletes the lock.
--
-- KEYS[1] to KEYS[3], ARGV[1] to ARGV[5]  as in leave.lua, without a minimum hold
-- KEYS[4]  the readers: see readers.lua
--
-- {'released'}, {'kept'}: others share our place, {'missing'}: others may read, {'not_mine', value}
--include leaving
local readers, holder = KEYS[4], KEYS[2]
--include sizes
--include readers
--include last
--include exit

if not ours then
  if ends then exit() end
  forget()
  if ARGV[4] == 'owner' and note(tonumber(ARGV[5])) then return {'released'} end
  if kind == 'none' or shared or ends then return {'missing'} end
  return {'not_mine', value}
end
local others = find_others()
if not others then return {'kept'} end
if #others > 0 then
  redis.call('HSET', KEYS[2], 'holds:' .. token, table.concat(others))
  return {'kept'}
end
exit()
if ARGV[4] then note(math.max(ends - clock, tonumber(ARGV[5]))) end
return {'released'}
