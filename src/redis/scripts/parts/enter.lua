-- SPDX-License-Identifier: MIT
--
-- Adds us to the readers of a lock that is free, or shared. life: the least time to live, in ms. Returns the
-- lock's time to live, -1 if it never expires.
--
-- The lock's key comes last if there is none, and first if there is one: whatever fails in between, no reader
-- counts without a lock that lives as long.
local function enter(life)
  local left = shared and redis.call('PTTL', KEYS[1]) or 0
  local stays = left == -1 and 31536000000 or math.max(left, life)
  ends = math.max(ours and ends or 0, clock + life)
  if not shared then
    shared = 'shared:' .. token
    value = shared
    if type(redis.pcall('UNLINK', readers)) ~= 'number' then redis.call('DEL', readers) end
    redis.call('ZADD', readers, 'inf', shared)
  elseif stays > left and left >= 0 then
    redis.call('PEXPIRE', KEYS[1], stays)
  end
  redis.call('ZADD', readers, ends, token)
  redis.call('PEXPIRE', readers, stays + 10000)
  if kind == 'none' then redis.call('SET', KEYS[1], value, 'PX', stays) end
  return stays
end
