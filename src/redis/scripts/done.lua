-- SPDX-License-Identifier: MIT
--
-- Reads the mark of the last successful run (--once). Changes nothing.
--
-- KEYS[1]  the mark, and no other key: a user without --once needs no permission for it
--
-- {'done', ms since that run began, how many ms the mark still stays, who or ''}, {'missing'}
--include read
local began, who = string.match(read(KEYS[1], 8192) or '', '^(%d+) (.*)$')
if not began then return {'missing'} end
local time = redis.call('TIME')
local age = time[1] * 1000 + math.floor(time[2] / 1000) - began
return {'done', math.max(age, 0), redis.call('PTTL', KEYS[1]), #who <= 8192 and who or ''}
