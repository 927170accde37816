-- SPDX-License-Identifier: MIT
--
-- Sends a message, after sharded.lua. (All servers but a Redis Cluster get a plain PUBLISH.)
--
-- ARGV[1]  the channel, ARGV[2] the message
--
-- how many subscribers of this node heard it
return redis.pcall('PUBLISH', ARGV[1], ARGV[2])
