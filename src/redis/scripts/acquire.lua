-- SPDX-License-Identifier: MIT
--
-- Takes the lock if it is free, it is not another waiter's turn, and this server can vouch for that; or
-- joins the lock of an ancestor.
--
-- KEYS[1]  the lock
-- KEYS[2]  the holder hash
-- KEYS[3]  the fence hash: the last fencing number, and the run_id of the server when it gave it
-- KEYS[4]  the tombstone: the token of the lock that somebody last deleted by force
-- ARGV[1]  our token
-- ARGV[2]  the lock's time to live, in ms: the ttl, or the minimum hold, whichever is longer
-- ARGV[3]  who we are, as JSON
-- ARGV[4]  restart grace, in s: a server that started more recently may have forgotten locks
-- ARGV[5]  the ttl, in ms: how long a hold counts without a renewal
-- ARGV[6]  our hold: the token itself, or another secret, to join the lock that has the token
-- ARGV[7]  the waiter that we are in the line, ARGV[8] its ticket; '' and '': we are not in line
-- ARGV[9]  the beginning of the names of the line's keys: see line.lua
-- and only for `--once`:
-- KEYS[5]  the mark of the last successful run: its beginning by this server's clock, and the runner
-- ARGV[10] how long ago that run must have begun, in ms
--
-- {'granted', run_id or '', uptime in s, trace, fence, clock}
--     the lock holds our token, for at least the ttl. trace: 'none', this name was never locked
--     here; 'present', last since the server started; 'earlier', last before it restarted.
--     fence: the number of this grant, '0' if the server could not store one. clock: ms since 1970,
--     '0' if the user may not read it.
-- {'done', ms since that run began, how many ms the mark still stays, who or ''}
-- {'refused', value, pttl, holder or '', clock, ticket, place, how many wait}    the key holds another
--     value; pttl -1: for ever. Or there is no lock to join: value ''. Or somebody deleted our lock here
--     by force: value 'revoked:TOKEN', pttl -2. ticket: for a waiter that joins the line now. place:
--     ours; 0: we are not in line.
-- {'turn', waiter, how many ms it lasts, '', clock, ticket, place, how many wait}    the lock is free,
--     and that waiter has the turn
-- {'fresh', uptime in s}                    the server restarted since the last lock: no witness
-- {'unusable', value}                       the fence hash has no number that can grow. value: the
--     first bytes of its field, or 'type:list' and the like
-- {'replica', 'host:port of the primary'}
--
-- Only writes to the line, which are pcalls (try), come before the SET, and every command after it is a
-- pcall: a failing script does not roll back, and an error after the SET would hide that we hold the
-- lock.
local ttl = tonumber(ARGV[2])
local hold = ARGV[6]
local joins = hold ~= ARGV[1]
local now = redis.pcall('TIME')
local clock = now[1] and now[1] * 1000 + math.floor(now[2] / 1000) or 0
local stamp = string.format('%.0f', clock)
local line = ARGV[9]
--include line
--include turn
--include stand

-- Other programs may have written the keys and fields, of any size: this script asks for the sizes
-- first, where the user may. If a value is longer than any of ours, it reads only the head.
local function read(key, longest)
  local long = (try('STRLEN', key) or 0) > longest
  return long and try('GETRANGE', key, 0, 1023) or redis.pcall('GET', key)
end

local function field(key, name, longest)
  if (try('HSTRLEN', key, name) or 0) > longest then return '' end
  local text = try('HGET', key, name) or ''
  return #text <= longest and text or ''
end

-- TYPE answers with a status, which is a table in Lua. A key of another type is another program's.
local kind = redis.call('TYPE', KEYS[1]).ok
local value = kind == 'string' and read(KEYS[1], 1024)
if type(value) == 'table' then return value end
local ours = value == ARGV[1]

-- Every refusal puts us into the line, or keeps us there. Without a clock (0) we would take the other
-- waiters' times for wrong ones.
local function refuse(word, blocker, left, holder)
  local ticket, place = ARGV[8], 0
  if ticket ~= '' and clock > 0 then
    local stands = stand_in_line(ARGV[7], ARGV[3], ticket)
    place = stands and (try('ZRANK', queue, ARGV[7]) or -1) + 1 or 0
  elseif ticket == '' then
    -- Another program may have put a waiter far behind. A score counts exactly up to 2^53.
    local last = (try('ZRANGE', queue, -1, -1, 'WITHSCORES') or {})[2]
    ticket = string.format('%.0f', math.min(math.max(clock, (tonumber(last) or 0) + 1), 2 ^ 53))
  end
  return {word, blocker, left, holder or '', stamp, ticket, place, try('ZCARD', queue) or 0}
end

if KEYS[5] and (not ours or joins) then
  local mark = read(KEYS[5], 8192)
  local began, who = string.match(type(mark) == 'string' and mark or '', '^(%d+) (.*)$')
  local age = began and clock - began
  local period = tonumber(ARGV[10])
  -- A mark from the future comes from a clock that was set back since: it counts, but not for ever.
  if age and age < period and age > -period then
    return {'done', math.max(age, 0), redis.call('PTTL', KEYS[5]), #who <= 8192 and who or ''}
  end
end

if value and not ours then
  value = string.sub(value, 1, 1024)
  local token = string.match(value, '^cooling:(.*)') or string.match(value, '^revoked:(%S+)') or value
  return refuse('refused', value, redis.call('PTTL', KEYS[1]), field(KEYS[2], token, 8192))
elseif kind ~= 'string' and kind ~= 'none' then
  return refuse('refused', 'type:' .. kind, redis.call('PTTL', KEYS[1]))
end

if not ours and read(KEYS[4], 1024) == ARGV[1] then
  return refuse('refused', 'revoked:' .. ARGV[1], -2)
end

-- If this script cannot read the list of holds, it cannot add ours: the lock would end when another
-- holder gives up its hold. The same goes for a list so long that no script would read it.
local holds = ours and field(KEYS[2], 'holds:' .. ARGV[1], 65536) or ''
if joins and holds == '' then return refuse('refused', '', -2) end
if joins or not ours then
  holds = string.gsub(holds, ' ?' .. hold .. ' %d+', '') .. ' ' .. hold ..
          string.format(' %.0f', clock + ARGV[5])
end
if #holds > 65536 then return refuse('refused', '', -2) end

-- A user without permission for INFO can recognize neither the server nor its age.
local run_id, uptime = '', 0
local about = try('INFO', 'server')
if about then
  run_id = string.match(about, 'run_id:(%w+)') or ''
  uptime = tonumber(string.match(about, 'uptime_in_seconds:(%d+)')) or 0
end
local place = try('INFO', 'replication') or ''
if string.find(place, 'role:slave', 1, true) then
  return {'replica', (string.match(place, 'master_host:([^\r\n]+)') or '?') .. ':' ..
                     (string.match(place, 'master_port:(%d+)') or '?')}
end

-- A number must be able to grow. Numbers begin at a clock and rise by one. If a number is far ahead
-- of the clock (10^13 ms are 317 years), somebody put it there, perhaps near the largest number.
local last
local size = try('HSTRLEN', KEYS[3], 'value') or 0
if size > 1024 then
  last = {string.format('%.0f bytes', size), ''}
elseif (try('HSTRLEN', KEYS[3], 'run_id') or 0) > 1024 then
  last = {field(KEYS[3], 'value', 1024), ''}
else
  last = redis.pcall('HMGET', KEYS[3], 'value', 'run_id')
  local foreign = last.err and string.find(last.err, 'WRONGTYPE', 1, true)
  if foreign then last = {'type:' .. redis.call('TYPE', KEYS[3]).ok, ''} end
  if last.err then last = {false, false} end
end
local before = 0
if last[1] then
  before = #last[1] <= 16 and tonumber(string.match(last[1], '^%d+$')) or 2 ^ 53
  if before - clock > 10000000000000 then before = false end
end
if not before and not ours then return {'unusable', string.sub(last[1], 1, 40)} end

local trace = 'none'
if last[1] then trace = (last[2] == run_id and run_id ~= '') and 'present' or 'earlier' end
local grace = tonumber(ARGV[4])
if grace > 0 and not ours and trace == 'earlier' and run_id ~= '' and uptime < grace + 1 then
  return {'fresh', uptime}
end

-- The line decides only about a free lock. A grant uses up no turn: the waiter leaves the line when it
-- has a quorum.
if kind == 'none' and not joins and (try('ZCARD', queue) or 0) > 0 then
  local ticket = tonumber(ARGV[8])
  local owner, left, theirs = standing_turn()
  if not owner then
    if clock > 0 then owner, left = hand_on(ARGV[7], ticket), 500 end
  elseif owner == ARGV[7] or
         (ticket and (ticket < theirs or (ticket == theirs and ARGV[7] < owner))) then
    owner = nil
  end
  if owner then return refuse('turn', owner, left) end
  if ticket then try('HDEL', waiters, 'mark:' .. ARGV[7]) end
end

local life = ttl
if ours then
  local left = redis.call('PTTL', KEYS[1])
  if left < ttl then redis.call('PEXPIRE', KEYS[1], ARGV[2]) else life = left end
else
  redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
  -- Nobody held the lock, so all that the hash still says is about former holders.
  try('DEL', KEYS[2])
end

local noted = try('HSET', KEYS[2], 'holds:' .. ARGV[1], holds)
if joins then
  try('PEXPIRE', KEYS[2], life + 10000)
  if not noted then return refuse('refused', '', -2) end
  return {'granted', run_id, uptime, trace, '0', stamp}
end

-- One number per token: a repeated request gets the same number again. After a restart the counter may
-- be older than numbers already given out, so it goes on from the clock.
local fence = ours and string.match(field(KEYS[2], 'fence:' .. ARGV[1], 16), '^%d+$')
if not fence and before then
  if trace ~= 'present' then before = math.max(before, clock) end
  fence = string.format('%.0f', before + 1)
  -- A number that the server did not store is not given out: the next grant would get it again.
  if not try('HSET', KEYS[3], 'value', fence) then fence = '0' end
  try('HSET', KEYS[3], 'run_id', run_id)
end
fence = fence or '0'
try('PEXPIRE', KEYS[3], 2592000000)
try('HSET', KEYS[2], ARGV[1], ARGV[3])
try('HSET', KEYS[2], 'fence:' .. ARGV[1], fence)
try('PEXPIRE', KEYS[2], life + 10000)
return {'granted', run_id, uptime, trace, fence, stamp}
