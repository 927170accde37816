-- SPDX-License-Identifier: MIT
--
-- Takes the lock if it is free. Also puts it back where it went missing while a quorum holds it.
--
-- KEYS[1]  the lock
-- KEYS[2]  the holder hash
-- ARGV[1]  our token
-- ARGV[2]  the lock's time to live, in ms
-- ARGV[3]  who we are, as JSON
--
-- {'granted'}                               the lock holds our token, for at least the ttl
-- {'refused', value, pttl, holder or ''}    it holds something else; pttl -1: for ever
--
-- The essential write comes first and everything after it is a pcall: a failing script does not
-- roll back, and an error after the SET would hide that we hold the lock.
local ttl = tonumber(ARGV[2])
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  -- Nobody held the lock, so that whatever the hash still says is about the dead.
  redis.pcall('DEL', KEYS[2])
  redis.pcall('HSET', KEYS[2], ARGV[1], ARGV[3])
  redis.pcall('PEXPIRE', KEYS[2], ttl + 10000)
  return {'granted'}
end

-- A key of another type is somebody else's too. TYPE answers with a status, a table in Lua.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'string' then
  return {'refused', 'type:' .. kind, redis.call('PTTL', KEYS[1]), ''}
end

local value = redis.call('GET', KEYS[1]) or ''
local left = redis.call('PTTL', KEYS[1])
if value == ARGV[1] then
  if left < ttl then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  redis.pcall('HSET', KEYS[2], ARGV[1], ARGV[3])
  redis.pcall('PEXPIRE', KEYS[2], ttl + 10000)
  return {'granted'}
end

-- The value may be anybody's, of any size; who the holder is may be unknown or unreadable.
local who = redis.pcall('HGET', KEYS[2], value)
if type(who) ~= 'string' or #who > 8192 then who = '' end
return {'refused', string.sub(value, 1, 1024), left, who}
