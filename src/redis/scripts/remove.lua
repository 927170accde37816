-- SPDX-License-Identifier: MIT
--
-- Deletes the key at the lock's name if it still is what the user saw, also if it is a key of another program.
--
-- KEYS[1]  the lock
-- KEYS[2]  the tombstone, if it is a redlock lock: it gets the lock's token, so that no late request of the holder
--          puts the lock back here. It stays 10 s longer than the lock would have lived, or 24 h and 10 s if the lock
--          never expires. If the script cannot write it, the answer is the same
-- KEYS[3]  the readers, if the lock is shared: see readers.lua. The tombstone has the token of each
-- ARGV[1]  the type of the key
-- ARGV[2]  the first 1024 bytes of its value, if it is a string
-- ARGV[3]  the token of a redlock lock, which may have been revoked or begun to cool since then, or ''
-- ARGV[4]  the holder of a Redisson lock, which is a hash, or ''
-- ARGV[5]  the readers that the user saw, or that were named when the lock was revoked, on any server
--
-- {'released'}, {'missing'}, {'not_mine', value}: it changed, or a reader has entered that ARGV[5] does not name, which
-- still counts on this server; an error, and nothing changes, if the lock has more readers than the tombstone can name
--include sizes
--include read
-- Also if the lock is gone already: its holder may be about to put it back.
local function bury(left)
  if ARGV[3] == '' or not KEYS[2] then return end
  -- For a lock that never expires, it takes the longest ttl.
  if left == -1 then left = 86400000 end
  local dead = ARGV[3]
  if KEYS[3] then
    local readers = redis.pcall('ZRANGE', KEYS[3], 0, -1)
    dead = table.concat(readers.err and {} or readers, ' ') .. ' ' .. ARGV[5]
    if type(redis.pcall('UNLINK', KEYS[3])) ~= 'number' then redis.pcall('DEL', KEYS[3]) end
  end
  -- It may name tokens that their owners released, and late requests for them must not get in either.
  local size = redis.pcall('STRLEN', KEYS[2])
  local old = type(size) == 'number' and size <= 65536 and redis.pcall('GET', KEYS[2])
  if type(old) == 'string' then dead = string.sub(dead .. ' ' .. old, 1, 65536) end
  local stays = redis.pcall('PTTL', KEYS[2])
  stays = math.max(type(stays) == 'number' and stays or 0, math.max(left, 0) + 10000)
  redis.pcall('SET', KEYS[2], dead, 'PX', string.format('%.0f', stays))
end

-- A reader that came when a quorum had revoked the lock and this server had not: nobody has told it to stop.
local function has_others()
  local named = {}
  for reader in string.gmatch(ARGV[5], '%S+') do named[reader] = true end
  local time = redis.call('TIME')
  local clock = time[1] * 1000 + math.floor(time[2] / 1000)
  local readers = redis.pcall('ZRANGEBYSCORE', KEYS[3], string.format('%.0f', clock), '+inf')
  for _, reader in ipairs(readers) do
    if not named[reader] and string.sub(reader, 1, 7) ~= 'shared:' then return true end
  end
end

-- A reader that the tombstone does not name could put the lock back beside the next holder.
if ARGV[3] ~= '' and KEYS[3] and not is_small(KEYS[3], 1000, 1000) then
  return redis.error_reply('ERR too many readers for --now: the lock is free when their jobs have ended')
end

local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'redisson mode' then kind = 'redisson' end
if kind == 'none' then
  bury(0)
  return {'missing'}
end
local value = kind == 'string' and read(KEYS[1], 1024) or ''
local same = kind == ARGV[1] and string.sub(value, 1, 1024) == ARGV[2]
if kind == 'string' and ARGV[3] ~= '' then
  local token = string.match(value, '^cooling:(.*)') or string.match(value, '^revoked:(%S+)')
  same = same or token == ARGV[3]
elseif same and ARGV[4] ~= '' then
  local size = redis.pcall('HSTRLEN', KEYS[1], ARGV[4])
  same = type(size) ~= 'number' or size > 0
end
if not same or ARGV[3] ~= '' and KEYS[3] and has_others() then
  return {'not_mine', kind == 'string' and string.sub(value, 1, 1024) or 'type:' .. kind}
end
local left = redis.call('PTTL', KEYS[1])
-- A large hash would keep the other clients waiting.
if kind == 'string' or type(redis.pcall('UNLINK', KEYS[1])) ~= 'number' then redis.call('DEL', KEYS[1]) end
bury(left)
return {'released'}
