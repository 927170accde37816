-- SPDX-License-Identifier: MIT
--
-- Tells which waiter has the turn, and gives it to the next one. A waiter that is called must ask within 500 ms.
-- Until then it counts; afterwards it counts no longer, and its next request puts it back. This holds for every
-- waiter that stands in the way, of whatever kind, and whether the lock is free or shared.
local function tell(waiter, word)
  return try('PUBLISH', prefix .. 'wake:' .. waiter, word)
end

-- The waiter that has the turn, for how many ms, and its ticket. A turn that lasts too long comes from a time
-- before the clock was set back; a waiter that left the queue needs none.
local function standing_turn()
  local owner = try('GETRANGE', turn, 0, 63) or try('GET', turn) or ''
  local left = owner ~= '' and try('PTTL', turn) or 0
  if left <= 0 or left > 500 then return end
  local ticket = tonumber(try('ZSCORE', queue, owner) or nil)
  if ticket then return owner, left, ticket end
end

-- The names of readers in the queue begin with 's', those of waiters for a slot of NN with "p00NN".
local function reads(waiter)
  return waiter:byte() == 115
end

-- An end that is too far ahead comes from a time before the clock was set back, and does not say so.
local function asked_lately(ends)
  return math.abs(ends - life - clock) <= 500
end

-- 'called'; 'dead': nobody can wake that waiter, and it has not just asked; 'on': we may not PUBLISH.
local function call(waiter, ends)
  local heard = tell(waiter, 'free')
  if not asked_lately(ends) then
    if heard == 0 then return 'dead' end
    if not heard then return 'on' end
  end
  if ends > clock + 500 then try('ZADD', alive, clock + 500, waiter) end
  return 'called'
end

-- After a turn that was missed, the waiters after that one may be stopped, too. So we call many of them, and
-- more if many were called in vain before.
local function batch(missed)
  return math.min(math.max(4 * missed, 32), 128)
end

-- Shows f the waiters in their order, those before us if we have a ticket: f(waiter, until when it counts,
-- how many before it counted no longer). It answers 'stop', 'dead' to drop that waiter, or anything else to
-- go on. Passes over waiters of whom `passes` says so. Returns the last one seen if the walk ends there
-- although more waiters stand before us.
local function walk(waiter, ticket, passes, f)
  -- Another program has put names there that are longer than any of ours: the waiters' next requests make a new queue.
  if not is_small(queue, 192) then return unlink(queue) end
  local offset, missed, dropped, last = 0, 0, 0
  for at = 1, 24 do
    local block = try('ZRANGE', queue, offset, offset + 7, 'WITHSCORES') or {}
    offset = offset + 8
    for each = 1, #block, 2 do
      local name, theirs = block[each], tonumber(block[each + 1])
      if ticket and (theirs > ticket or (theirs == ticket and name >= waiter)) then return end
      if #name > 64 then return unlink(queue) end
      if not (passes and passes(name)) then
        local ends = tonumber(try('ZSCORE', alive, name) or 0)
        local answer = ends > clock and f(name, ends, missed) or 'missed'
        if answer == 'stop' then return end
        if answer == 'missed' then missed = missed + 1 end
        if answer == 'missed' or answer == 'dead' then
          offset, dropped = offset - forget(name), dropped + 1
        end
      end
      last = name
    end
    if #block < 16 then return end
    if at >= 8 and (not waiter or (dropped == 0 and not passes)) then return last end
  end
  return last
end

-- Gives the turn to the first waiter, and wakes it; the next one learns that it is next. If the first one
-- reads, we wake up to eight readers that stand one after another. Returns the owner of the turn, if any.
--
-- waiter  we ask for the lock; '' without a ticket. nil: somebody frees it
-- fits(waiter)  whether that waiter can use what is free; nil: the whole lock is free
-- shares  readers have the lock: whoever enters needs no turn
local function hand_on(waiter, ticket, fits, shares)
  local called, owner = 0
  walk(waiter, ticket, nil, function(each, ends, missed)
    local crowd = waiter and missed > 0
    if not owner and fits and not fits(each) then return 'stop' end
    if owner and not crowd and not (reads(owner) and reads(each)) then
      tell(each, 'next')
      return 'stop'
    end
    local answer = call(each, ends)
    if answer ~= 'called' then return answer end
    owner = owner or (shares or try('SET', turn, each, 'PX', 500)) and each
    called = called + 1
    return (not owner or called >= (crowd and batch(missed) or 8)) and 'stop' or 'on'
  end)
  return owner
end
