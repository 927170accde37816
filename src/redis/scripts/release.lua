-- SPDX-License-Identifier: MIT
--
-- Deletes the lock if it is ours, also if it is cooling or was revoked from us, and whoever joined
-- it: it was never had, or it is lost. (A lock that was had is given back by leave.lua.)
--
-- KEYS[1]  the lock, and no other key, as in renew.lua
-- ARGV[1]  our token
--
-- {'released'}, {'missing'}, {'not_mine', value}
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return {'missing'} end
if kind ~= 'string' then return {'not_mine', 'type:' .. kind} end

-- Of a value longer than any of ours only the head is read.
local size = redis.pcall('STRLEN', KEYS[1])
local long = type(size) == 'number' and size > #ARGV[1] + 1024
local head = long and redis.pcall('GETRANGE', KEYS[1], 0, 1023)
local value = type(head) == 'string' and head or redis.call('GET', KEYS[1])
if value == ARGV[1] or value == 'cooling:' .. ARGV[1] or
   string.match(value or '', '^revoked:(%S+)') == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return {'released'}
end
return {'not_mine', string.sub(value or '', 1, 1024)}
