-- SPDX-License-Identifier: MIT
--
-- Instead of leave.lua after a run that failed, with --hold-on-failure: the lock goes on as a maintenance hold, with
-- the same token, so that nobody gets it in between. A lock that was revoked since then becomes free, once no process
-- that joined holds it any more.
--
-- KEYS[1]  the lock, KEYS[2] the holder hash
-- ARGV[1]  the lock's token, ARGV[2] our hold, as in leave.lua
-- ARGV[3]  how long the hold lasts, in ms. If processes that joined still hold the lock, or left a longer minimum
--          hold, or if this request comes once more, the lock does not live shorter than it would
-- ARGV[4]  the record of the hold, as JSON
--
-- {'held'}, {'kept'}: revoked, and others still hold it; {'released'}, {'missing'}, {'not_mine', value}    as in
--     release.lua
--include leaving
--include string
local value = read(KEYS[1], 1024)
local revoked = string.match(value or '', '^revoked:(%S+)') == token
local others = find_others()
if revoked and #others > 0 then
  redis.call('HSET', KEYS[2], 'holds:' .. token, table.concat(others))
  return {'kept'}
elseif value ~= token then
  forget()
  if not revoked then return {'not_mine', string.sub(value or '', 1, 1024)} end
  redis.call('DEL', KEYS[1])
  return {'released'}
end
local keep = tonumber(field(KEYS[2], 'keep:' .. token, 16):match('^%d+$')) or 0
local left = math.max(rest, keep - clock)
local present = redis.call('PTTL', KEYS[1])
-- Somebody may have extended the hold since an earlier request made it.
if field(KEYS[2], token, 8192) == ARGV[4] then left = math.max(present, left) end
-- Processes that joined go on with their holds, and leave ours. What we asked for is noted, not how long the lock
-- lives: if the clock was set back, a renewal of theirs cuts the rest.
local holds = token .. (' %.0f'):format(clock + left) .. table.concat(others)
if #others > 0 then left = math.max(present, left) end
redis.call('PEXPIRE', KEYS[1], left)
redis.pcall('HSET', KEYS[2], token, ARGV[4], 'holds:' .. token, holds)
redis.pcall('HDEL', KEYS[2], 'keep:' .. token, 'lease:' .. token)
redis.pcall('PEXPIRE', KEYS[2], left + 10000)
return {'held'}
