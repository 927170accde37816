-- SPDX-License-Identifier: MIT
--
-- Puts our lock back on a server that lost it, while a quorum of the others holds it, but not after a release by
-- its owner or a deletion by force, of which the process that renews the lock may not know yet. This is not a new
-- grant: it takes no fencing number and leaves no trace of the server's run_id, so the client judges the server's
-- next vote as if this had not happened.
--
-- KEYS[1] to KEYS[4], ARGV[1] to ARGV[3]  as in acquire.lua
--
-- {'granted'}    the lock has our token, again or still
-- {'refused', value, pttl, '', '0'}    as in acquire.lua
-- {'released'}    the fence hash says so: the owner has released the lock by its token
--include noted

if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  redis.pcall('HSET', KEYS[2], ARGV[1], ARGV[3])
  redis.pcall('PEXPIRE', KEYS[2], tonumber(ARGV[2]) + 10000)
  return {'granted'}
end
local kind = redis.call('TYPE', KEYS[1]).ok
--include read
local value = kind == 'string' and read(KEYS[1], 1024) or 'type:' .. kind
if value == ARGV[1] then return {'granted'} end
return {'refused', string.sub(value, 1, 1024), redis.call('PTTL', KEYS[1]), '', '0'}
