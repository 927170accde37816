-- SPDX-License-Identifier: MIT
--
-- Raises the fencing number of a grant if the servers' own counters differ. Says yes only if this very call
-- raised it and the counter was written since the server started: the counter of a restarted server may be
-- older than numbers already given out.
--
-- KEYS[1] to KEYS[3]  the lock, the holder hash, the fence hash
-- ARGV[1]  our token
-- ARGV[2]  the number
--
-- {'committed'}, {'not_committed', last number or '0'}
--include read
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or read(KEYS[1], 1024) ~= ARGV[1] then
  return {'not_committed', '0'}
end
--include raise
