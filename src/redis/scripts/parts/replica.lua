-- SPDX-License-Identifier: MIT
--
-- Ends the script if this server is a replica.
local host, port = string.match(tostring(redis.pcall('INFO', 'replication')),
                                'role:[^m].-host:(%C+).-port:(%d+)')
if host then return {'replica', host .. ':' .. port} end
