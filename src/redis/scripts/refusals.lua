-- SPDX-License-Identifier: MIT
--
-- Reads what refuse.lua has written. Changes nothing.
--
-- KEYS[1]  the fence hash
--
-- {'refusals', {host, number of its runs, ms since the last one, JSON as in refuse.lua}, …}: the latest first
--include field
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
local answer, names = {'refusals'}, 0
for host in string.gmatch(field(KEYS[1], 'refused', 4096), '%S+') do
  local count, at, who = string.match(field(KEYS[1], 'refused:' .. host, 2048), '^(%d+) (%d+) (.*)$')
  if count then
    answer[#answer + 1] = {string.sub(host, 1, 64), tonumber(count),
                           string.format('%.0f', math.max(clock - at, 0)), who}
  end
  names = names + 1
  if names == 32 then break end
end
return answer
