-- SPDX-License-Identifier: MIT
--
-- Deletes the lock if it is ours, also if it was revoked from us; or lets it cool: its value becomes
-- cooling:<token>, and it expires by itself.
--
-- KEYS[1]  the lock, and no other key, as in renew.lua
-- ARGV[1]  our token
-- ARGV[2]  what is left of a minimum hold, in ms; 0: none
--
-- {'released'}, {'cooling'}, {'missing'}, {'not_mine', value}
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return {'missing'} end
if kind ~= 'string' then return {'not_mine', 'type:' .. kind} end

local value = redis.call('GET', KEYS[1])
local cooling = 'cooling:' .. ARGV[1]
local rest = tonumber(ARGV[2])
if rest > 0 and value == ARGV[1] then
  -- The life it has covers the hold already. A request that comes late must not make more of it.
  local left = redis.call('PTTL', KEYS[1])
  if left >= 0 and left < rest then rest = left end
  redis.call('SET', KEYS[1], cooling, 'PX', math.max(rest, 1))
  return {'cooling'}
end
if rest > 0 and value == cooling then return {'cooling'} end
if value == ARGV[1] or value == cooling or value == 'revoked:' .. ARGV[1] then
  redis.call('DEL', KEYS[1])
  return {'released'}
end
return {'not_mine', string.sub(value or '', 1, 1024)}
