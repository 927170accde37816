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
-- {'committed'}    the counter has the number, with the run_id that it had, and the holder hash has it, too
-- {'not_committed', last number or '0'}    '0': the lock does not have our token, or the counter is not a number.
--     A number more than 10^13 ahead of this server's clock never gets a yes
--include read
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or read(KEYS[1], 1024) ~= ARGV[1] then
  return {'not_committed', '0'}
end
--include raise
