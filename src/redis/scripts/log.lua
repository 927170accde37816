-- SPDX-License-Identifier: MIT
--
-- Writes a line into the log of a lock, if the user may, and the key is a log. No client waits for it.
--
-- KEYS[1]  the log
-- ARGV[1]  what happened: acquired, renewed (a maintenance hold), released, lost, revoked, skipped,
--          superseded
-- ARGV[2]  the token of the run. Its digest shows which lines belong together; the token is secret
-- ARGV[3]  the rest, as JSON
-- ARGV[4]  about how many lines the log keeps: the server drops whole blocks of lines
--
-- A line has its own time, in ms since 1970 by this server's clock: after the clock was set back, the IDs of new lines
-- still follow the last one.
--
-- Consecutive skipped runs share one line with their number: hosts that all have the same job in their
-- crontab must not push all other lines out of the log. Consecutive superseded runs do so, too.
local time = redis.pcall('TIME')
local clock = time[1] and time[1] * 1000 + math.floor(time[2] / 1000) or 0
local count = 1
if ARGV[1] == 'skipped' or ARGV[1] == 'superseded' then
  -- The last block of the stream counts with its own size, the others with that of the first one.
  local lines = redis.pcall('XLEN', KEYS[1])
  local size = redis.pcall('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 1)
  local long = type(lines) == 'number' and type(size) == 'number' and size > math.min(65536 + 4096 * lines, 12e6 + 200 * lines)
  local last = long and {} or redis.pcall('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
  local line = last[1] and last[1][2] or {}
  if line[2] == ARGV[1] then
    count = (tonumber(line[8]) or 1) + 1
    redis.pcall('XDEL', KEYS[1], last[1][1])
  end
end
redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], '*', 'event', ARGV[1], 'run',
            string.sub(redis.sha1hex(ARGV[2]), 1, 16), 'data', ARGV[3], 'count', count,
            'time', string.format('%.0f', clock))
redis.pcall('PEXPIRE', KEYS[1], 2592000000)
return 1
