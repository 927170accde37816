-- SPDX-License-Identifier: MIT
--
-- On a Redis Cluster the client puts this before each script that sends messages. SPUBLISH reaches only the
-- nodes that have the lock's slot, PUBLISH every node: a script sends the latter only if nobody heard the
-- former (before Redis 7, if a user may not use the command, and while the slot is half moved).
local server = redis
local redis = {call = server.call, pcall = function(command, ...)
  local heard = command == 'PUBLISH' and server.pcall('SPUBLISH', ...)
  if type(heard) == 'number' and heard > 0 then return heard end
  return server.pcall(command, ...)
end}
