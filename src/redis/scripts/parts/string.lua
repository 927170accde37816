-- SPDX-License-Identifier: MIT
--
-- Ends the script if the lock is not there, or not a string.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return {'missing'} end
if kind ~= 'string' then return {'not_mine', 'type:' .. kind} end
--include read
