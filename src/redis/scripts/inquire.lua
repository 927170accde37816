-- SPDX-License-Identifier: MIT
--
-- Whether the owner of a lock has released it by its token, as leave.lua notes. Changes nothing.
--
-- KEYS[1]  the fence hash
-- ARGV[1]  the lock's token
--
-- {'released'}, {'missing'}
local notes = redis.call('HGET', KEYS[1], 'released')
for token in string.gmatch(notes or '', '~?(%S+) %d+') do
  if token == ARGV[1] then return {'released'} end
end
return {'missing'}
