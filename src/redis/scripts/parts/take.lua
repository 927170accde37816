-- SPDX-License-Identifier: MIT
--
-- How acquire.lua and acquire_newest.lua go on, after alone.lua.
if value and not ours then
  value = value:sub(1, 1024)
  local token = value:match('^cooling:(.*)') or value:match('^revoked:(%S+)') or value
  return refuse('refused', value, redis.call('PTTL', KEYS[1]), field(KEYS[2], token, 8192))
elseif kind ~= 'string' and kind ~= 'none' then
  return refuse('refused', 'type:' .. kind, redis.call('PTTL', KEYS[1]))
end

--include buried
--include vouch

-- The queue decides only about a free lock. A grant does not end a turn: a waiter leaves with its quorum.
if kind == 'none' and not joins and (try('ZCARD', queue) or 0) > 0 then
  local ticket = tonumber(ARGV[8])
  local owner, left = turn_before(ticket, clock > 0)
  if owner then return refuse('turn', owner, left) end
  if ticket then count_again(us) end
end

local life = ttl
if ours then
  local left = redis.call('PTTL', KEYS[1])
  if left < ttl then redis.call('PEXPIRE', KEYS[1], ARGV[2]) else life = left end
else
  redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
  -- Nobody held the lock, so all that the hash still says is about former holders.
  unlink(KEYS[2])
  if ARGV[5] ~= ARGV[2] then try('HSET', KEYS[2], 'lease:' .. ARGV[1], clock + ARGV[5]) end
end

--include grant
