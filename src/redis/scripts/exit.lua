-- SPDX-License-Identifier: MIT
--
-- Removes us from the readers, for the scripts that include it behind readers.lua. The last one deletes
-- the lock.
--
-- holder  the key of the holder hash: the lock's description there, its field shared, becomes that of
--         a reader that stays
local function exit()
  redis.call('ZREM', readers, token)
  if redis.call('ZCOUNT', readers, '(' .. string.format('%.0f', clock), '+inf') <= 1 then
    redis.call('DEL', KEYS[1], readers)
    redis.pcall('HDEL', holder, shared)
  else
    local last = redis.call('ZREVRANGE', readers, 1, 1)[1]
    local size = redis.pcall('HSTRLEN', holder, last)
    local who = type(size) == 'number' and size <= 8192 and redis.pcall('HGET', holder, last)
    if type(who) == 'string' then redis.pcall('HSET', holder, shared, who) end
  end
  redis.pcall('HDEL', holder, token, 'fence:' .. token, 'holds:' .. token)
end
