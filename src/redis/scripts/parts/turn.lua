-- SPDX-License-Identifier: MIT
--
-- Tells which waiter has the turn, and gives it to the next one: for the scripts that include it behind
-- queue.lua.
local function tell(waiter, word)
  return try('PUBLISH', prefix .. 'wake:' .. waiter, word)
end

-- The waiter that has the turn, for how many ms, and its ticket. A turn that lasts too long comes from
-- a time before the clock was set back; a waiter that left the queue needs none.
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
--
-- `waiter`: we ask for the lock; '' without a ticket. If we found the lock free, and there is a waiter
-- to pass over, then a turn was probably missed, and the waiters behind the next owner may be stopped,
-- too. So this function calls up to 31 of them at once. The turn is not theirs, but they count no longer
-- than it lasts, unless they ask.
local function hand_on(waiter, ticket, shared, slots)
  local woken, offset, owner, crowd, passed = 0, 0
  local function look(each)
    local ends = tonumber(try('ZSCORE', alive, each) or 0)
    local reads = string.byte(each) == 115
    local behind = owner and not (reads and crowd)
    if ends <= clock then
      offset = offset - forget(each)
    elseif is_marked(each) then
      passed = passed or each
    elseif (shared and not reads) or (slots and string.match(each, '^p00(%x%x)') ~= slots) then
      return true
    elseif behind and not (waiter and passed) then
      tell(each, 'next')
      return true
    else
      local heard = tell(each, 'free')
      if (heard or 0) > 0 or (not behind and ends - life >= clock - 500) then
        crowd = reads and not behind
        if behind then
          try('ZADD', alive, clock + 500, each)
        else
          owner = owner or shared and each or try('SET', turn, each, 'PX', 500) and each
          if owner then try('HSET', waiters, 'mark:' .. each, '1') end
        end
        woken = woken + 1
        return not owner or woken == (behind and 32 or 8)
      elseif heard and not behind then
        offset = offset - forget(each)
      end
    end
  end
  local function walk()
    for _ = 1, 8 do
      local block = try('ZRANGE', queue, offset, offset + 7, 'WITHSCORES') or {}
      offset = offset + 8
      for at = 1, #block, 2 do
        local theirs = tonumber(block[at + 1])
        if ticket and (theirs > ticket or (theirs == ticket and block[at] >= waiter)) then return end
        if look(block[at]) then return end
      end
      if #block < 16 then return end
    end
  end
  walk()
  if not owner and passed and not shared then tell(passed, 'free') end
  return owner
end
