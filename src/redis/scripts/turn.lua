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

-- Gives the turn to the first waiter, of those that stand before us if we have a ticket, and wakes it;
-- the second one learns that it is next. Returns the owner of the turn, if there is one.
--
-- A waiter that had its turn here and has not asked since is passed over: it may be stopped. A waiter
-- that nobody can wake is dropped unless it has just asked; its next request puts it back.
local function hand_on(waiter, ticket)
  local owner, passed, offset, dropped = nil, nil, 0, {}
  local function look(each)
    local ends = tonumber(try('ZSCORE', alive, each) or 0)
    if ends <= clock then
      dropped[#dropped + 1] = each
    elseif (try('HSTRLEN', waiters, 'mark:' .. each) or
            #(try('HGET', waiters, 'mark:' .. each) or '')) == 1 then
      passed = passed or each
    elseif owner then
      tell(each, 'next')
      return true
    else
      local heard = tell(each, 'free')
      if (heard or 0) > 0 or ends - life >= clock - 500 then
        owner = try('SET', turn, each, 'PX', 500) and each
        if owner then try('HSET', waiters, 'mark:' .. each, '1') end
        return not owner
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
  if not owner and passed then tell(passed, 'free') end
  return owner
end
