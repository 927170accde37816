-- SPDX-License-Identifier: MIT
--
-- As repair.lua, for a reader, on a server where the lock is free or shared.
--
-- KEYS[1] to KEYS[4], ARGV[1] to ARGV[3], replies  as in repair.lua
-- KEYS[5]  the readers: see readers.lua
local token, readers = ARGV[1], KEYS[5]
--include noted
--include sizes
--include readers
--include slots
--include enter

if crowd and not ours then
  return {'refused', 'type:crowd', redis.call('PTTL', KEYS[1]), '', '0'}
end
if occupant then return {'refused', occupant, ends_of(occupant) - clock, '', '0'} end
if kind ~= 'none' and (revoked or not fits) then
  return {'refused', value, redis.call('PTTL', KEYS[1]), '', '0'}
end
local life = enter(tonumber(ARGV[2]))
redis.pcall('HSET', KEYS[2], token, ARGV[3])
redis.pcall('PEXPIRE', KEYS[2], string.format('%.0f', life + 10000))
return {'granted'}
