-- SPDX-License-Identifier: MIT
--
-- A waiter joins the queue. (Its next request for the lock would do that, too, but a little later.)
--
-- KEYS[1]  the lock, which this script does not touch: it has the queue's slot
-- ARGV[1]  the beginning of the names of the queue's keys: see queue.lua
-- ARGV[2] to ARGV[4]  the waiter, who it is, as JSON, and its ticket
--
-- {'joined'}
local prefix = ARGV[1]
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
--include queue
--include enqueue
enqueue(ARGV[2], ARGV[3], ARGV[4])
return {'joined'}
