-- SPDX-License-Identifier: MIT
--
-- Takes the lock as one of its readers, if it is free or others read it, no writer waits before us, and
-- this server can vouch for that; or joins the place of an ancestor among the readers.
--
-- KEYS[1] to KEYS[4], ARGV[1] to ARGV[9]  as in acquire.lua; there is neither --once nor a minimum hold
-- KEYS[5]  the readers: see readers.lua
--
-- Replies as acquire.lua. {'refused', 'shared:GENERATION', …}: others read, but a writer waits before us.
-- For a slot: {'refused' or 'turn', the token that has our slot or the waiter, …, who has each slot}, if the
-- lock has as many slots as our token says; the time is until the first slot may be free.
--
-- {'refused', 'shared:GENERATION', …}, without who has each slot: our slot is free, but a waiter that is
-- not for one of as many slots stands before us.
--
-- A name in the line that begins with 's' is a reader's, one with "p00NN" waits for one of NN slots: see
-- turn.lua.
local token, readers = ARGV[1], KEYS[5]
local ttl = tonumber(ARGV[2])
local hold = ARGV[6]
local joins = hold ~= token
--include readers

local stamp = string.format('%.0f', clock)
local line = ARGV[9]
--include line
--include turn
--include stand
--include asked
--include slots
--include enter

-- A refusal for a slot also tells who has each slot: 4 digits of the holder's token, or nothing.
local refuse_any = refuse
if slot and fits then
  local map = {}
  for at = 1, tonumber(slots, 16) do
    map[at] = string.sub(taken[string.format('%02x', at)] or '', 6, 9)
  end
  refuse = function(...)
    local answer = refuse_any(...)
    answer[9] = table.concat(map, ',')
    return answer
  end
end

if kind ~= 'none' and (revoked or not fits) then
  local holder = string.match(value, '^cooling:(.*)') or string.match(value, '^revoked:(%S+)') or value
  return refuse('refused', value, redis.call('PTTL', KEYS[1]), field(KEYS[2], holder, 8192))
end

-- The tombstone of a shared lock names all readers.
local buried = not ours and read(KEYS[4], 65536)
if type(buried) == 'string' and string.find(buried, token, 1, true) then
  return refuse('refused', 'revoked:' .. token, -2)
end
if occupant and not joins then
  return refuse('refused', occupant, soonest - clock, field(KEYS[2], occupant, 8192))
end
--include vouch

local function enters_with_us(waiter)
  if slot then return string.match(waiter, '^p00(%x%x)') == slots end
  return string.byte(waiter) == 115
end

-- The first waiter before us that cannot hold the lock together with us: for a reader, a writer. Beyond
-- the 32nd waiter, this script takes each for one.
local function other_before(ticket)
  local first = try('ZRANGE', queue, 0, 31, 'WITHSCORES') or {}
  for at = 1, #first, 2 do
    local each, theirs = first[at], tonumber(first[at + 1])
    if ticket and (theirs > ticket or (theirs == ticket and each >= ARGV[7])) then return end
    if not enters_with_us(each) and tonumber(try('ZSCORE', alive, each) or 0) > clock and
       not is_marked(each) then
      return each, true
    end
  end
  return first[63]
end

if ours or joins or (try('ZCARD', queue) or 0) == 0 then
  -- The line decides about newcomers alone.
elseif slot then
  -- A free slot is like a free lock, see acquire.lua, unless others wait for all slots to be free.
  local ticket = tonumber(ARGV[8])
  local _, other = nil, nil
  if kind ~= 'none' then _, other = other_before(ticket) end
  if other then
    return refuse_any('refused', value, redis.call('PTTL', KEYS[1]), field(KEYS[2], value, 8192))
  end
  local owner, left, theirs = standing_turn()
  if not owner then
    owner, left = hand_on(ARGV[7], ticket), 500
  elseif owner == ARGV[7] or
         (ticket and (ticket < theirs or (ticket == theirs and ARGV[7] < owner))) then
    owner = nil
  end
  if owner then return refuse('turn', owner, left) end
  if ticket then try('HDEL', waiters, 'mark:' .. ARGV[7]) end
else
  -- Whoever holds the lock, a writer that waits comes before the readers that come after it.
  local ticket = tonumber(ARGV[8])
  local owner, left, theirs = standing_turn()
  if owner and ticket and (ticket < theirs or (ticket == theirs and ARGV[7] < owner)) then
    owner = nil
  elseif kind == 'none' and not owner then
    owner = hand_on(ARGV[7], ticket)
  end
  local writer, known = owner, true
  if not owner or enters_with_us(owner) then writer, known = other_before(ticket) end
  if writer and (kind == 'none' or not known) then return refuse('turn', writer, left or 500) end
  if writer then
    return refuse('refused', value, redis.call('PTTL', KEYS[1]), field(KEYS[2], value, 8192))
  end
  if ticket then try('HDEL', waiters, 'mark:' .. ARGV[7]) end
end

-- Readers that died are removed, some at a time.
for _, each in ipairs(shared and try('ZRANGEBYSCORE', readers, '-inf', clock, 'LIMIT', 0, 32) or {}) do
  if each ~= token then
    try('ZREM', readers, each)
    try('HDEL', KEYS[2], each, 'fence:' .. each, 'holds:' .. each)
  end
end
-- If nobody held the lock, all that the hash still says is about former holders.
local first = not shared
local life = enter(ttl)
if first then try('DEL', KEYS[2]) end
if not joins then try('HSET', KEYS[2], shared, ARGV[3]) end

--include grant
