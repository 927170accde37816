-- SPDX-License-Identifier: MIT
--
-- A waiter joins the line. (Its next request for the lock would do that, too, but a little later.)
--
-- KEYS[1]  the lock, which this script does not touch: it has the line's slot
-- ARGV[1]  the beginning of the names of the line's keys: see line.lua
-- ARGV[2]  the waiter, ARGV[3] who it is, as JSON, ARGV[4] its ticket
--
-- {'joined'}
local line = ARGV[1]
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
--include line
--include stand
stand_in_line(ARGV[2], ARGV[3], ARGV[4])
return {'joined'}
