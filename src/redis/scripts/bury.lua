-- SPDX-License-Identifier: MIT
--
-- Leaves a tombstone for our token, right after its release: an acquire or repair that may still be on its way
-- here, over a connection that the client has given up, finds it and refuses.
--
-- KEYS[1]  the lock, KEYS[2] the tombstone: tokens with blanks between them, the latest first, 65536 bytes at most
-- KEYS[3]  of a reader: the readers, see readers.lua
-- ARGV[1]  our token
-- ARGV[2]  how long the tombstone stays at least, in ms: the ttl and 10 s
--
-- {'buried'}, {'held'}: the lock still has the token, so other processes hold it
local function long(size, longest)
  return type(size) == 'number' and size > longest
end

local value = not long(redis.pcall('STRLEN', KEYS[1]), 1024) and redis.pcall('GET', KEYS[1])
local reads = KEYS[3] and redis.pcall('ZSCORE', KEYS[3], ARGV[1])
if value == ARGV[1] or tonumber(reads) then return {'held'} end

-- At maxmemory, Redis refuses SET until the script has sent a write that needs no memory.
local left = redis.pcall('PTTL', KEYS[2])
redis.pcall('PEXPIRE', KEYS[2], math.max(type(left) == 'number' and left or 0, 1))
local others = not long(redis.pcall('STRLEN', KEYS[2]), 65536) and redis.pcall('GET', KEYS[2])
local dead = type(others) == 'string' and ARGV[1] .. ' ' .. others or ARGV[1]
local stays = math.max(type(left) == 'number' and left or 0, tonumber(ARGV[2]))
redis.call('SET', KEYS[2], string.sub(dead, 1, 65536), 'PX', string.format('%.0f', stays))
return {'buried'}
