-- SPDX-License-Identifier: MIT
--
-- Ends the script if this server is a replica.
local place = redis.pcall('INFO', 'replication')
if type(place) == 'string' and string.find(place, 'role:[^m]') then
  return {'replica', (string.match(place, 'master_host:([^\r\n]+)') or '?') .. ':' ..
                     (string.match(place, 'master_port:(%d+)') or '?')}
end
