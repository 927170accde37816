-- SPDX-License-Identifier: MIT
--
-- Takes the lock if it is free, not another waiter's turn, and this server can vouch for that; or joins an ancestor's.
--
-- KEYS[1] to KEYS[4]  the lock, the holder hash, the fence hash, the tombstone
-- ARGV[1]  our token
-- ARGV[2]  the lock's time to live, in ms: the ttl or the minimum hold, whichever is longer
-- ARGV[3]  who we are, as JSON
-- ARGV[4]  the restart grace, in s
-- ARGV[5]  the ttl, in ms: how long a hold counts without a renewal
-- ARGV[6]  our hold: the token itself, or another secret, to join the lock that has the token
-- ARGV[7], ARGV[8]  our name in the queue, and our ticket; '' and '': we are not in the queue
-- ARGV[9]  the beginning of the names of the queue's keys: see queue.lua
-- KEYS[5]  only for --once or --build: the mark of the last successful run
-- ARGV[10] to ARGV[12]  only for these and --newest, '' where they are not given: how long ago the run of --once must
--     have begun, in ms; our build; '1': of the waiters with --newest only the newest goes on
--
-- {'granted', run_id or '', uptime in s, trace, fence, clock}
--     trace: this name was never locked here ('none'), or last since the server started ('present') or before
--     ('earlier'). fence: '0' if the server could not store one. clock: ms since 1970, '0' if unknown.
-- {'done', ms since that run began, how many ms the mark still stays, who or ''}
-- {'superseded', build, how many ms ago its run succeeded, who or ''}    that build is larger than ours; build '': a
--     newer waiter waits, or has got the lock since we came
-- {'refused', value, pttl, holder or '', clock, ticket, place, how many wait}    the key has another value;
--     pttl -1: it never expires. value '': there is no lock to join. value 'revoked:TOKEN', pttl -2: the tombstone
--     has our token. ticket: for a waiter that joins the queue now. place: ours, 0 outside the queue.
-- {'turn', waiter, how many ms it lasts, '', clock, ticket, place, how many wait}    the lock is free
-- {'fresh', uptime in s}    the server restarted since the last lock, and may have forgotten it
-- {'unusable', value}    the fence hash has no number that can grow; value: its first bytes, or 'type:list'
-- {'replica', 'host:port of the primary'}
--
-- Only writes to the queue, which are pcalls (try), come before the SET, and every command after it is a
-- pcall: a failing script does not roll back, and an error after the SET would hide that we hold the lock.
local now = redis.pcall('TIME')
local clock = now[1] and now[1] * 1000 + math.floor(now[2] / 1000) or 0
--include asked
--include newest
local build = tonumber(ARGV[11])

-- TYPE answers with a status, which is a table in Lua. A key of another type is another program's.
local kind = redis.call('TYPE', KEYS[1]).ok
local value = kind == 'string' and read(KEYS[1], 1024)
if type(value) == 'table' then return value end
local ours = value == ARGV[1]

if KEYS[5] and (not ours or joins) then
  local mark = read(KEYS[5], 8192)
  mark = type(mark) == 'string' and mark or ''
  local number, ended, by = string.match(mark, '^(%d+) (%d+) (.*)$')
  if build and number and tonumber(number) > build then
    return {'superseded', number, math.max(clock - ended, 0), #by <= 8192 and by or ''}
  end
  local began, who = string.match(mark, '^(%d+) (.*)$')
  local age = began and clock - began
  local period = tonumber(ARGV[10])
  -- A mark from the future comes from a clock that was set back since: it counts, but not indefinitely.
  if age and period and age < period and age > -period then
    return {'done', math.max(age, 0), redis.call('PTTL', KEYS[5]), #who <= 8192 and who or ''}
  end
end

if ARGV[12] == '1' and not ours and not joins then
  local mine, ticket, waiter = build or 0, tonumber(ARGV[8]), ARGV[7]
  local number, last, other, state, by = newest_waiter()
  local older = number and other ~= waiter and (mine < number or mine == number and ticket and
                (ticket < last or ticket == last and waiter < other))
  local ends = older and tonumber(try('ZSCORE', alive, other) or 0) or 0
  if older and (state == 'has' and mine == number or
                ends > clock and (asked_lately(ends) or tell(other, 'newer') ~= 0)) then
    return {'superseded', '', 0, by}
  end
  if ticket and other ~= waiter then
    note_newest(mine, ticket, waiter, 'waits', ARGV[3])
    if other then tell(other, 'free') end
  end
  least = (last or 0) + 1
end

if value and not ours then
  value = string.sub(value, 1, 1024)
  local token = string.match(value, '^cooling:(.*)') or string.match(value, '^revoked:(%S+)') or value
  return refuse('refused', value, redis.call('PTTL', KEYS[1]), field(KEYS[2], token, 8192))
elseif kind ~= 'string' and kind ~= 'none' then
  return refuse('refused', 'type:' .. kind, redis.call('PTTL', KEYS[1]))
end

--include buried
--include vouch

-- The queue decides only about a free lock. A grant does not end a turn: a waiter leaves with its quorum.
if kind == 'none' and not joins and (try('ZCARD', queue) or 0) > 0 then
  local ticket = tonumber(ARGV[8])
  local owner, left = turn_before(ticket, clock > 0)
  if owner then return refuse('turn', owner, left) end
  if ticket then count_again(ARGV[7]) end
end

local life = ttl
if ours then
  local left = redis.call('PTTL', KEYS[1])
  if left < ttl then redis.call('PEXPIRE', KEYS[1], ARGV[2]) else life = left end
else
  redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
  -- Nobody held the lock, so all that the hash still says is about former holders.
  if not try('UNLINK', KEYS[2]) then try('DEL', KEYS[2]) end
end

--include grant
