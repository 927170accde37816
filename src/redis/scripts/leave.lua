-- SPDX-License-Identifier: MIT
--
-- Gives up a hold of the lock. If no other is left, it is over: the lock is deleted, also if it was
-- revoked, or left to cool.
--
-- Two keys, and so TRYAGAIN while a cluster moves their slot: then it is asked for again. Whether
-- others hold the lock and that it is deleted must be one step, or who joins in between loses it.
--
-- KEYS[1]  the lock
-- KEYS[2]  the holder hash
-- ARGV[1]  the lock's token
-- ARGV[2]  our hold: the token itself for the one that took the lock, else another secret
-- ARGV[3]  what is left of a minimum hold, in ms; 0: none
-- and of a lock that one process renews and another one releases, its owner, else neither:
-- KEYS[3]  the fence hash, where it is noted that the token was released: nobody takes that for a
--          loss, and nobody puts the lock back
-- ARGV[4]  which of them asks: 'owner' or 'keeper', who has heard of it and sees to what is left
-- ARGV[5]  for how long it is noted at least, in ms: whoever renewed the lock has given up by then
--
-- {'released'}, {'cooling'}, {'kept'}: others hold it still, {'missing'}, {'not_mine', value}
local token, hold, rest = ARGV[1], ARGV[2], tonumber(ARGV[3])

local time = redis.pcall('TIME')
local clock = time[1] and time[1] * 1000 + math.floor(time[2] / 1000) or 0

-- The keeper's note, "~token", is for an owner's request that comes later: what that asks for has been
-- done. Tells whether it was so.
local function note(life)
  if not KEYS[3] then return false end
  local mark, others, before = ARGV[4] == 'keeper' and '~' or '', '', nil
  local notes = redis.pcall('HGET', KEYS[3], 'released')
  for at, id, ends in string.gmatch(type(notes) == 'string' and notes or '', '(~?)(%S+) (%d+)') do
    if id == token then
      before = at
    elseif tonumber(ends) > clock then
      others = others .. ' ' .. at .. id .. ' ' .. ends
    end
  end
  if before == '' then mark = '' end
  -- Of very many the oldest are forgotten. One that is cut in two is none.
  notes = mark .. token .. string.format(' %.0f', clock + life) .. string.sub(others, 1, 4000)
  redis.pcall('HSET', KEYS[3], 'released', notes)
  redis.pcall('PEXPIRE', KEYS[3], 2592000000)
  return before == '~' and mark == ''
end

local function forget()
  redis.pcall('HDEL', KEYS[2], token, 'fence:' .. token, 'holds:' .. token, 'keep:' .. token)
end

local kind = redis.call('TYPE', KEYS[1]).ok
local value = kind == 'string' and redis.call('GET', KEYS[1])
local cooling = 'cooling:' .. token
if value ~= token and value ~= cooling and
   string.match(value or '', '^revoked:(%S+)') ~= token then
  forget()
  -- A keeper that finds nothing leaves no note: the owner shall hear that the lock was gone.
  if ARGV[4] == 'owner' and note(tonumber(ARGV[5])) then return {'released'} end
  if kind == 'none' then return {'missing'} end
  return {'not_mine', value and string.sub(value, 1, 1024) or 'type:' .. kind}
end

local holds = redis.pcall('HGET', KEYS[2], 'holds:' .. token)
local others, known = '', hold == token
for id, ends in string.gmatch(type(holds) == 'string' and holds or '', '(%S+) (%d+)') do
  if id == hold then
    known = true
  elseif id == token or tonumber(ends) > clock then
    -- Whoever joined may die unheard of. If the taker did, the lock has its time to live to go: only
    -- it knew of a minimum hold.
    others = others .. ' ' .. id .. ' ' .. ends
  end
end
if not known then return {'kept'} end

local keep = tonumber(redis.pcall('HGET', KEYS[2], 'keep:' .. token)) or 0
if others ~= '' then
  redis.call('HSET', KEYS[2], 'holds:' .. token, others)
  if rest > 0 then
    redis.pcall('HSET', KEYS[2], 'keep:' .. token, string.format('%.0f', math.max(keep, clock + rest)))
  end
  return {'kept'}
end

rest = math.max(rest, keep - clock)
if rest > 0 and value == cooling then return {'cooling'} end
if rest > 0 and value == token then
  -- The life it has covers the hold already. A request that comes late must not make more of it.
  local left = redis.call('PTTL', KEYS[1])
  if left >= 0 and left < rest then rest = left end
  rest = math.max(rest, 1)
  redis.call('SET', KEYS[1], cooling, 'PX', string.format('%.0f', rest))
  redis.pcall('PEXPIRE', KEYS[2], string.format('%.0f', rest + 10000))
  return {'cooling'}
end
local left = KEYS[3] and redis.call('PTTL', KEYS[1]) or 0
redis.call('DEL', KEYS[1])
forget()
if KEYS[3] then note(math.max(left, tonumber(ARGV[5]))) end
return {'released'}
