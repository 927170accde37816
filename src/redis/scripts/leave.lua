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
--
-- {'released'}, {'cooling'}, {'kept'}: others hold it still, {'missing'}, {'not_mine', value}
local token, hold, rest = ARGV[1], ARGV[2], tonumber(ARGV[3])

local function forget()
  redis.pcall('HDEL', KEYS[2], token, 'fence:' .. token, 'holds:' .. token, 'keep:' .. token)
end

local kind = redis.call('TYPE', KEYS[1]).ok
local value = kind == 'string' and redis.call('GET', KEYS[1])
local cooling = 'cooling:' .. token
if value ~= token and value ~= cooling and
   string.match(value or '', '^revoked:(%S+)') ~= token then
  forget()
  if kind == 'none' then return {'missing'} end
  return {'not_mine', value and string.sub(value, 1, 1024) or 'type:' .. kind}
end

local time = redis.pcall('TIME')
local clock = time[1] and time[1] * 1000 + math.floor(time[2] / 1000) or 0
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
redis.call('DEL', KEYS[1])
forget()
return {'released'}
