-- SPDX-License-Identifier: MIT
--
-- What leave.lua and leave_shared.lua have in common to find the other processes, which joined the lock of
-- our token, and still hold it. others: their entries in the list of holds.

local others, known = {}, hold == token
each(field(KEYS[2], 'holds:' .. token, 65536), function(id, ends)
  if id == hold then
    known = true
  elseif id == token or tonumber(ends) > clock then
    -- A process that joined may die unnoticed. If the process that took the lock died, the lock keeps its
    -- time to live: only that process knew of a minimum hold.
    others[#others + 1] = ' ' .. id .. ' ' .. ends
  end
end)
if not known then return {'kept'} end
-- At maxmemory, Redis refuses HSET and SET until the script has sent a write that needs no memory.
redis.pcall('HDEL', KEYS[2], '')
