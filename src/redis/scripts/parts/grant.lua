-- SPDX-License-Identifier: MIT
--
-- What the acquire scripts have in common once the lock holds our token: the list of holds, the fencing number,
-- who we are. life: the lock's time to live, in ms.
local noted = redis.pcall('HSET', KEYS[2], 'holds:' .. ARGV[1], holds)
if joins then
  try('PEXPIRE', KEYS[2], life + 10000)
  if type(noted) == 'table' then return noted end
  return {'granted', run_id, age, trace, '0', stamp}
end

-- One number per token: a repeated request gets the same number again. After a restart the counter may be
-- older than numbers already given out, so it goes on from the clock. The same goes for another list of servers:
-- after two changes of the list, the last number may be on other servers.
local fence = ours and field(KEYS[2], 'fence:' .. ARGV[1], 16):match('^%d+$')
if not fence and before then
  if trace ~= 'present' or field(KEYS[3], 'list', 8) ~= ARGV[10] then before = math.max(before, clock) end
  fence = ('%.0f'):format(before + 1)
  -- A number that the server did not store is not given out: the next grant would get it again.
  if not try('HSET', KEYS[3], 'value', fence, 'run_id', run_id, 'list', ARGV[10]) then fence = '0' end
end
fence = fence or '0'
try('PEXPIRE', KEYS[3], 2592000000)
try('HSET', KEYS[2], ARGV[1], ARGV[3], 'fence:' .. ARGV[1], fence)
try('PEXPIRE', KEYS[2], life + 10000)
return {'granted', run_id, age, trace, fence, stamp}
