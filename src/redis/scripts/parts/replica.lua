-- SPDX-License-Identifier: MIT
--
-- Ends the script if this server is a replica.
local role = tostring(redis.pcall('INFO', 'replication'))
local host, port = role:match('^role:[^m].-host:(%C+).-port:(%d+)', role:find('role:'))
if host then return {'replica', host .. ':' .. port} end
