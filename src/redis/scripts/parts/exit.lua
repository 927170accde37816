-- SPDX-License-Identifier: MIT
--
-- Removes us from the readers. The last one deletes the lock. If others stay, the lock lives no longer than they
-- do: ours may have had the longest ttl. If the list is too large to read, the lock keeps its time to live.
--
-- holder  the key of the holder hash: its field shared, the lock's description, becomes that of a reader that stays
local function exit()
  redis.call('ZREM', readers, token)
  local small = is_small(readers, 1024, 1024)
  local others = small and redis.call('ZRANGEBYSCORE', readers, '(' .. ('%.0f'):format(clock), '+inf',
                                      'LIMIT', 0, 2)
  if small and #others < 2 then
    redis.call('DEL', KEYS[1], readers)
    redis.pcall('HDEL', holder, shared)
  elseif small then
    local who = field(holder, others[1], 8192)
    if who ~= '' then redis.pcall('HSET', holder, shared, who) end
    trim()
  end
  redis.pcall('HDEL', holder, token, 'fence:' .. token, 'holds:' .. token)
end
