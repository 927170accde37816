-- SPDX-License-Identifier: MIT
--
-- Deletes the lock if it is ours, even if it cools, was revoked, or other processes joined it: we never got
-- this lock, or have lost it. (leave.lua releases a lock that we got.)
--
-- KEYS[1]  the lock, and no other key, as in renew.lua
-- ARGV[1]  our token
--
-- {'released'}, {'missing'}, {'not_mine', value}    value: as in acquire.lua
--include string
local value = read(KEYS[1], #ARGV[1] + 1024)
if value == ARGV[1] or value == 'cooling:' .. ARGV[1] or
   string.match(value or '', '^revoked:(%S+)') == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return {'released'}
end
return {'not_mine', string.sub(value or '', 1, 1024)}
