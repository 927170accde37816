-- SPDX-License-Identifier: MIT
--
-- Reads the mark of the last successful run (--once), or of the last successful build (--build). Changes nothing.
--
-- KEYS[1]  the mark, and no other key: a user without --once needs no permission for it
--
-- {'done', ms since that run began, how many ms the mark still stays, who or ''}, {'missing'}
-- {'built', ms since that build succeeded, its number, who or ''}
--include read
local mark = read(KEYS[1], 8192) or ''
local began, who = string.match(mark, '^(%d+) (.*)$')
local build, ended, by = string.match(mark, '^(%d+) (%d+) (.*)$')
if not began then return {'missing'} end
local time = redis.call('TIME')
local age = time[1] * 1000 + math.floor(time[2] / 1000) - (ended or began)
if build then return {'built', math.max(age, 0), build, #by <= 8192 and by or ''} end
return {'done', math.max(age, 0), redis.call('PTTL', KEYS[1]), #who <= 8192 and who or ''}
