-- SPDX-License-Identifier: MIT
--
-- Goes with a renewal of a lock that lives much longer than the renewal asked for, best effort: if our hold is the only
-- one, and no process has left a minimum hold, nobody else can have asked for that, so the server's clock was set back.
-- Then the lock gets the time to live that we asked for.
--
-- KEYS[1]  the lock, KEYS[2] the holder hash
-- ARGV[1]  the lock's token, ARGV[2] our hold
-- ARGV[3]  the time to live, in ms, as in renew.lua
--
-- 1 if it has cut, 0 if not
--include field
--include read

if read(KEYS[1], 1024) ~= ARGV[1] then return 0 end
local holds = field(KEYS[2], 'holds:' .. ARGV[1], 65536)
-- A process that joined may have asked for more, and so may have one that left a minimum hold.
local alone = string.match(holds, '^ ?' .. ARGV[2] .. ' %d+$') and field(KEYS[2], 'keep:' .. ARGV[1], 16) == ''
if not alone or redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[3]) then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
