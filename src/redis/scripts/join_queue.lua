-- SPDX-License-Identifier: MIT
--
-- A waiter joins the line. (Its next request for the lock would do that, too, but a little later.)
--
-- KEYS[1]  the queue, KEYS[2] alive, KEYS[3] the waiters: see line.lua
-- ARGV[1]  the waiter, ARGV[2] who it is, as JSON, ARGV[3] its ticket
--
-- {'joined'}
local queue, alive, waiters = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
--include line
--include stand
stand_in_line(ARGV[1], ARGV[2], ARGV[3])
return {'joined'}
