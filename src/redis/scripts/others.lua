-- SPDX-License-Identifier: MIT
--
-- Ends leave.lua or leave_shared.lua if other processes, which joined the lock of our token, still hold
-- it. keep: until when a minimum hold lasts that a process noted which left before us.

local others, known = {}, hold == token
each(field(KEYS[2], 'holds:' .. token, 65536), function(id, ends)
  if id == hold then
    known = true
  elseif id == token or tonumber(ends) > clock then
    -- A process that joined may die unnoticed. If the process that took the lock died, the lock keeps
    -- its time to live: only that process knew of a minimum hold.
    others[#others + 1] = ' ' .. id .. ' ' .. ends
  end
end)
if not known then return {'kept'} end

local keep = tonumber(string.match(field(KEYS[2], 'keep:' .. token, 16), '^%d+$')) or 0
if #others > 0 then
  redis.call('HSET', KEYS[2], 'holds:' .. token, table.concat(others))
  if rest > 0 then
    redis.pcall('HSET', KEYS[2], 'keep:' .. token, string.format('%.0f', math.max(keep, clock + rest)))
  end
  return {'kept'}
end
