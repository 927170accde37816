-- SPDX-License-Identifier: MIT
--
-- The line of waiters, for the scripts that include it. The order of tickets is the order of service.
-- Exclusion never rests on it: it only adds refusals, and each of them ends by itself.
--
-- It needs these locals:
--   queue     the queue: waiter → ticket
--   alive     waiter → until when its record counts, in ms by this server's clock
--   waiters   waiter → who it is, as JSON; and 'mark:WAITER', if it had its turn and has not asked since
--   turn      the waiter that has the turn
--   channels  the name of the wake-up channels, up to the waiter at its end
--   clock     this server's clock, in ms
local life, longest_turn = 20000, 500

-- Where the user lacks a permission, or another program uses a key, there is no line.
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
end

local function forget(waiter)
  try('ZREM', queue, waiter)
  try('ZREM', alive, waiter)
  try('HDEL', waiters, waiter, 'mark:' .. waiter)
end

-- A waiter that was killed never leaves: each request of another one removes some expired records. A
-- record that lasts too long comes from a time before the clock was set back.
local function sweep(ends)
  for _, each in ipairs(try('ZRANGEBYSCORE', alive, '-inf', clock, 'LIMIT', 0, 32) or {}) do
    forget(each)
  end
  for _, each in ipairs(try('ZRANGEBYSCORE', alive, '(' .. ends, '+inf', 'LIMIT', 0, 8) or {}) do
    try('ZADD', alive, ends, each)
  end
end

-- Puts a waiter into the line, or keeps it at its place. Returns its place and how many wait.
local function stand_in_line(waiter, who, ticket)
  local ends = string.format('%.0f', clock + life)
  sweep(ends)
  try('ZADD', queue, 'NX', ticket, waiter)
  try('ZADD', alive, ends, waiter)
  try('HSET', waiters, waiter, who)
  try('HDEL', waiters, 'mark:' .. waiter)
  for _, key in ipairs({queue, alive, waiters}) do try('PEXPIRE', key, life) end
  return (try('ZRANK', queue, waiter) or -1) + 1, try('ZCARD', queue) or 0
end

-- The waiter that has the turn, for how many ms, and its ticket. A turn that lasts too long comes from
-- a time before the clock was set back; a waiter that left the line needs none.
local function standing_turn()
  local owner = try('GETRANGE', turn, 0, 63) or ''
  local left = owner ~= '' and try('PTTL', turn) or 0
  if left <= 0 or left > longest_turn then return end
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
    elseif try('HGET', waiters, 'mark:' .. each) == '1' then
      passed = passed or each
    elseif owner then
      try('PUBLISH', channels .. each, 'next')
      return true
    else
      local heard = try('PUBLISH', channels .. each, 'free')
      if (heard or 0) > 0 or ends - life >= clock - 500 then
        owner = try('SET', turn, each, 'PX', longest_turn) and each
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
  if not owner and passed then try('PUBLISH', channels .. passed, 'free') end
  return owner
end
