-- SPDX-License-Identifier: MIT
--
-- What leave.lua, leave_held.lua and leave_shared.lua have in common.
local token, hold, rest = ARGV[1], ARGV[2], tonumber(ARGV[3])

local time = redis.pcall('TIME')
local clock = time[1] and time[1] * 1000 + math.floor(time[2] / 1000) or 0

--include field
--include each

-- The keeper's note, "~token", is for a later request of the owner: the keeper has already done what that
-- request asks for. Returns whether there was such a note.
local function note(life)
  local mark, others, before = ARGV[4] == 'keeper' and '~' or '', {''}, nil
  each(field(KEYS[3], 'released', 8192), function(id, ends)
    if id == token or id == '~' .. token then
      before = id
    elseif tonumber(ends) > clock then
      others[#others + 1] = id .. ' ' .. ends
    end
  end)
  if before == token then mark = '' end
  -- If there are very many notes, the oldest are dropped. A note that is cut in two does not count.
  local notes = table.concat(others, ' '):sub(1, 4000)
  redis.pcall('HSET', KEYS[3], 'released',
              mark .. token .. (' %.0f'):format(clock + life) .. notes)
  redis.pcall('PEXPIRE', KEYS[3], 2592000000)
  return before == '~' .. token and mark == ''
end

-- The other processes that joined the lock and still hold it, as in the list of holds; nil if we are not in it.
local function find_others()
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
  -- At maxmemory, Redis refuses HSET and SET until the script has sent a write that needs no memory.
  redis.pcall('HDEL', KEYS[2], '')
  return known and others
end

local function forget()
  redis.pcall('HDEL', KEYS[2], token, 'fence:' .. token, 'holds:' .. token, 'keep:' .. token,
               'lease:' .. token)
end
