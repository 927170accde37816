-- SPDX-License-Identifier: MIT
--
-- What the acquire scripts have in common before they look at the lock.
local ttl, hold, us, prefix = tonumber(ARGV[2]), ARGV[6], ARGV[7], ARGV[9]
local joins = hold ~= ARGV[1]
local stamp = ('%.0f'):format(clock)
--include queue
--include turn
--include enqueue
--include field

-- As in read.lua, but an error is a value.
local function read(key, longest)
  local long = (try('STRLEN', key) or 0) > longest
  return long and try('GETRANGE', key, 0, 1023) or redis.pcall('GET', key)
end

-- What to answer if this server is a replica.
local function replica()
--include replica
end

-- Every refusal puts us into the queue, or keeps us there, unless this is a replica. Without a clock (0) we would
-- take the other waiters' times for wrong ones.
local function refuse(word, blocker, left, holder, more)
  local ticket, place, away = ARGV[8], 0
  if ticket ~= '' and clock > 0 then
    local stands = enqueue(us, ARGV[3], ticket)
    away = not stands and replica()
    place = stands and (try('ZRANK', queue, us) or -1) + 1 or 0
  elseif ticket == '' then
    -- Another program may have added a waiter with a huge ticket. A score counts exactly up to 2^53.
    -- The name of the last one can only be measured with those of all.
    local last = is_small(queue, 1024, 1024) and try('ZRANGE', queue, -1, -1, 'WITHSCORES') or {}
    ticket = ('%.0f'):format(math.min(math.max(clock, (last[2] or 0) + 1), 2 ^ 53))
  end
  return away or {word, blocker, left, holder or '', stamp, ticket, place, try('ZCARD', queue) or 0, more}
end

-- The waiter whose turn it is before ours, and for how many ms. gives: if nobody has it, the first waiter gets it.
local function turn_before(ticket, gives)
  local owner, left, theirs = standing_turn()
  if not owner then return gives and hand_on(us, ticket), 500 end
  if owner == us or ticket and (ticket < theirs or ticket == theirs and us < owner) then return end
  return owner, left
end
