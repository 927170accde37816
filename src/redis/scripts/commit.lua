-- SPDX-License-Identifier: MIT
--
-- Raises the fencing number of a grant if the servers' own counters differ. Says yes only if this very call
-- raised it and the counter was written since the server started: the counter of a restarted server may be
-- older than numbers already given out.
--
-- KEYS[1]  the lock, KEYS[2] the holder hash, KEYS[3] the fence hash
-- ARGV[1]  our token
-- ARGV[2]  the number
--
-- {'committed'}, or {'not_committed', last number or '0'}
-- The script reads no value longer than any of ours: it asks for sizes first, where the user may.
local function long(size)
  return type(size) == 'number' and size > 1024
end
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or long(redis.pcall('STRLEN', KEYS[1])) or
   redis.call('GET', KEYS[1]) ~= ARGV[1] or long(redis.pcall('HSTRLEN', KEYS[3], 'value')) or
   long(redis.pcall('HSTRLEN', KEYS[3], 'run_id')) then
  return {'not_committed', '0'}
end
--include raise
