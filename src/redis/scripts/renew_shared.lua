-- SPDX-License-Identifier: MIT
--
-- As renew.lua, for our place among the readers, and for the lock with it: to renew one of them only would let a
-- writer in.
--
-- KEYS[1]  the lock, KEYS[2] the readers: see readers.lua
-- ARGV[1]  our token
-- ARGV[2]  the ttl, in ms
--
-- {'renewed'}, {'renewed', how long our place lasts, in ms}: it lasts much longer, see cut.lua
-- {'missing'}: others may read, {'not_mine', value}
local token, readers, life = ARGV[1], KEYS[2], tonumber(ARGV[2])
--include readers

if ours and revoked then return {'not_mine', string.sub('revoked:' .. token .. reason, 1, 1024)} end
if kind == 'none' or (shared and not ours) then return {'missing'} end
if not ours then return {'not_mine', value} end
--include enter
-- At maxmemory, Redis refuses ZADD until the script has sent a write that needs no memory.
redis.pcall('ZREM', readers, '')
enter(life)
return {'renewed', ends > clock + life + 1000 and ends - clock or nil}
