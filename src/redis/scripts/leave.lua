-- SPDX-License-Identifier: MIT
--
-- Gives up a hold of the lock. If no other hold is left, deletes the lock, even a revoked one, or leaves it to
-- cool. Both are one step (so on two keys, with TRYAGAIN while a cluster moves their slot): otherwise a process
-- that joins in between would lose the lock.
--
-- KEYS[1]  the lock, KEYS[2] the holder hash
-- ARGV[1]  the lock's token
-- ARGV[2]  our hold: the token itself for the process that took the lock, else another secret
-- ARGV[3]  the rest of a minimum hold, in ms, or 0. The lock cools for the longest rest of all its holds, but not
--          longer than it would live
-- and only for a lock that one process, the keeper, renews and another one, the owner, releases:
-- KEYS[3]  the fence hash. A note there says that the token was released: so the keeper neither takes the release
--          for a loss nor puts the lock back
-- ARGV[4]  which process asks: 'owner', or 'keeper', which knows of the release and finishes it
-- ARGV[5]  how long the note stays at least, in ms: until the keeper has given up. It stays as long as the lock would
--          have lived, if that is longer
--
-- {'released'}    also if the lock is gone, and the owner finds the keeper's note: the keeper has done this request
-- {'cooling'}, also if it cools already
-- {'kept'}    others still hold it, or we joined, and the list of holds lacks our hold. Holds that have expired do not
--     count, except that of the process that took the lock: it must leave, or the lock expires
-- {'missing'}, {'not_mine', value}    as in release.lua
--include leaving
--include read

local kind = redis.call('TYPE', KEYS[1]).ok
local value = kind == 'string' and read(KEYS[1], 1024)
local cooling = 'cooling:' .. token
if value ~= token and value ~= cooling and
   (value or ''):match('^revoked:(%S+)') ~= token then
  forget()
  -- A keeper that finds no lock leaves no note: the owner must learn that the lock was gone.
  if ARGV[4] == 'owner' and note(tonumber(ARGV[5])) then return {'released'} end
  if kind == 'none' then return {'missing'} end
  return {'not_mine', value and value:sub(1, 1024) or 'type:' .. kind}
end

local left = find_others()
if not left then return {'kept'} end
-- Without a minimum hold 0: the clock may be set back.
local keep = math.max(tonumber(field(KEYS[2], 'keep:' .. token, 16):match('^%d+$')) or 0, rest > 0 and clock + rest or 0)
if #left > 0 then
  redis.call('HSET', KEYS[2], 'holds:' .. token, table.concat(left), 'keep:' .. token, keep)
  -- Our renewals may have given the lock a longer life than a maintenance hold asked for. Nobody renews that hold.
  if #left == 1 and field(KEYS[2], token, 8192):find('"maintenance"') then
    redis.call('PEXPIRE', KEYS[1], math.max(keep, 0 + left[1]:match('%d+$')) - clock)
  end
  return {'kept'}
end

rest = keep - clock
if rest > 0 and value == cooling then return {'cooling'} end
if rest > 0 and value == token then
  -- The present time to live covers the hold already. A late request must not extend it.
  local life = redis.call('PTTL', KEYS[1])
  if life >= 0 and life < rest then rest = life end
  rest = math.max(rest, 1)
  redis.call('SET', KEYS[1], cooling, 'PX', rest)
  redis.pcall('PEXPIRE', KEYS[2], rest + 10000)
  return {'cooling'}
end
if KEYS[3] then note(math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[5]))) end
redis.call('DEL', KEYS[1])
forget()
return {'released'}
