-- SPDX-License-Identifier: MIT
--
-- The lock lives no longer than the last of its readers. The list is small.
local function trim()
  local last = redis.pcall('ZRANGE', readers, -2, -2, 'WITHSCORES')
  local left = (tonumber(last[2]) or 0) - clock
  if left >= 1 and left < redis.call('PTTL', KEYS[1]) then
    redis.call('PEXPIRE', KEYS[1], ('%.0f'):format(left))
  end
end
