-- SPDX-License-Identifier: MIT
--
-- Tells which waiter has the turn, and gives it to the next one: for the scripts that include it behind
-- line.lua.
local function tell(waiter, word)
  return try('PUBLISH', line .. 'wake:' .. waiter, word)
end

-- The waiter that has the turn, for how many ms, and its ticket. A turn that lasts too long comes from
-- a time before the clock was set back; a waiter that left the line needs none.
local function standing_turn()
  local owner = try('GETRANGE', turn, 0, 63) or try('GET', turn) or ''
  local left = owner ~= '' and try('PTTL', turn) or 0
  if left <= 0 or left > 500 then return end
  local ticket = tonumber(try('ZSCORE', queue, owner) or nil)
  if ticket then return owner, left, ticket end
end

local function is_marked(waiter)
  return (try('HSTRLEN', waiters, 'mark:' .. waiter) or
          #(try('HGET', waiters, 'mark:' .. waiter) or '')) == 1
end

-- Gives the turn to the first waiter, of those that stand before us if we have a ticket, and wakes it;
-- the next one learns that it is next. Returns the owner of the turn, if there is one.
--
-- Readers, which enter together, have names that begin with 's'. If the first waiter is one, this
-- function wakes up to eight readers that stand behind one another; while the lock is shared, it wakes
-- only those. The name of a waiter for a slot of NN begins with "p00NN"; `slots`: NN, while holders of
-- slots have the lock: then it wakes only such a waiter.
--
-- A waiter that had its turn here and has not asked since is passed over: it may be stopped. A waiter
-- that nobody can wake is dropped unless it has just asked; its next request puts it back.
local function hand_on(waiter, ticket, shared, slots)
  local owner, passed, woken, offset, dropped = nil, nil, 0, 0, {}
  local function look(each)
    local ends = tonumber(try('ZSCORE', alive, each) or 0)
    local reads = string.byte(each) == 115
    if ends <= clock then
      dropped[#dropped + 1] = each
    elseif is_marked(each) then
      passed = passed or each
    elseif (shared and not reads) or (slots and string.match(each, '^p00(%x%x)') ~= slots) then
      return true
    elseif owner and not (reads and string.byte(owner) == 115) then
      tell(each, 'next')
      return true
    else
      local heard = tell(each, 'free')
      if (heard or 0) > 0 or ends - life >= clock - 500 then
        owner = owner or shared and each or try('SET', turn, each, 'PX', 500) and each
        if owner then try('HSET', waiters, 'mark:' .. each, '1') end
        woken = woken + 1
        return not owner or woken == 8
      elseif heard then
        dropped[#dropped + 1] = each
      end
    end
  end
  local function walk()
    while offset < 32 do
      local block = try('ZRANGE', queue, offset, offset + 7, 'WITHSCORES') or {}
      for at = 1, #block, 2 do
        local theirs = tonumber(block[at + 1])
        if ticket and (theirs > ticket or (theirs == ticket and block[at] >= waiter)) then return end
        if look(block[at]) then return end
      end
      if #block < 16 then return end
      offset = offset + 8
    end
  end
  walk()
  for _, each in ipairs(dropped) do forget(each) end
  if not owner and passed and not shared then tell(passed, 'free') end
  return owner
end
