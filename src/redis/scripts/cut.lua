-- SPDX-License-Identifier: MIT
--
-- Goes with a renewal of a lock that lives much longer than the renewal asked for, best effort: if no other process
-- that holds it can have asked for that, the server's clock was set back. Then the lock, or a reader's place, gets the
-- time to live that its holders asked for.
--
-- KEYS[1]  the lock, KEYS[2] the holder hash
-- KEYS[3]  of a reader: the readers, see readers.lua
-- ARGV[1]  the lock's token, ARGV[2] our hold
-- ARGV[3]  the time to live, in ms, as in renew.lua
--
-- 1 if it has cut, 0 if not
local token, readers = ARGV[1], KEYS[3]
--include field
--include each
--include sizes
--include readers
--include last

-- What a process that joined asked for, and one that left a minimum hold. An end of theirs that is from before the
-- clock was set back counts until they renew.
local known, latest = false, tonumber(string.match(field(KEYS[2], 'keep:' .. token, 16), '^%d+$')) or 0
each(field(KEYS[2], 'holds:' .. token, 65536), function(id, ends)
  if id == ARGV[2] then known = true else latest = math.max(latest, tonumber(ends)) end
end)
local life = math.max(tonumber(ARGV[3]), latest - clock)
if not known then return 0 end
if not readers then
  if value ~= token or redis.call('PTTL', KEYS[1]) <= life then return 0 end
  return redis.call('PEXPIRE', KEYS[1], life)
end
if not ours or ends <= clock + life or not is_small(readers, 1024, 1024) then return 0 end
redis.call('ZADD', readers, clock + life, token)
trim()
return 1
