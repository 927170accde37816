-- SPDX-License-Identifier: MIT
--
-- Sends a message. The client puts sharded.lua in front of it, and sends a plain PUBLISH to all servers but a
-- Redis Cluster.
--
-- ARGV[1]  the channel
-- ARGV[2]  the message
--
-- how many subscribers of this node heard it
return redis.pcall('PUBLISH', ARGV[1], ARGV[2])
