-- SPDX-License-Identifier: MIT
--
-- Reads all that there is to see of a lock, but for what the user may not read. Changes nothing.
--
-- KEYS[1]  the lock, KEYS[2] the holder hash
-- ARGV[1]  the key of the readers, which stands at the end of KEYS, as in queue.lua
-- ARGV[2]  a token or '': if it is a reader's, the readers begin with it
--
-- {'seen', type of the key, value or '', pttl, holder or '', fence, holds, member, count, run,
--  {{token, for how many more ms, who or '', fence, run}, …}, readers, lease}
--     type: 'string' also for a lock of ours in Redisson's form. pttl -1: it never expires. fence: the number of the
--     holder's token on this server, or '0'. holds: how many processes hold the lock, 0 if unknown. member, count: the
--     holder of a Redisson lock, which is a hash, and how often it holds it. run: the log's name for the token's run.
--     Then the readers, 100 at most, and how many there are. lease: for how many more ms the latest renewal counts, or
--     pttl. A minimum hold may last longer.
-- {'replica', 'host:port of the primary'}
--include sizes
--include replica
--include field
--include each

local kind = redis.call('TYPE', KEYS[1]).ok
-- One byte more than the longest value of ours.
local head = kind == 'string' and redis.pcall('GETRANGE', KEYS[1], 0, 1024)
local value = type(head) == 'string' and head or kind == 'string' and redis.call('GET', KEYS[1]) or ''
local left = redis.call('PTTL', KEYS[1])
local all = {}
if kind == 'hash' then
  local fields = redis.pcall('HLEN', KEYS[1])
  local size = tonumber(redis.pcall('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 16)) or 0
  local few = type(fields) == 'number' and fields <= 16 and size <= 16384
  all = few and redis.pcall('HGETALL', KEYS[1]) or {}
  -- See redisson.lua.
  local ours = #all == 2 and string.match(all[1], '^(.*):0$')
  if ours and string.find(ours, '^%l-:?r' .. string.rep('%x', 39)) then kind, value = 'string', ours end
end
local who, fence, holds, member, count, run, readers, there, lease = '', '0', 0, '', 0, '', {}, 0, nil

if #value > 1024 then
  -- It is not ours, and may be so long that reading it would block the server.
elseif kind == 'string' then
  local token = string.match(value, '^cooling:(.*)') or string.match(value, '^revoked:(%S+)') or value
  who = field(KEYS[2], token, 8192)
  run = string.sub(redis.sha1hex(token), 1, 16)
  fence = string.match(field(KEYS[2], 'fence:' .. token, 32), '^%d+$') or '0'
  local now = redis.pcall('TIME')
  local clock = now[1] and now[1] * 1000 + math.floor(now[2] / 1000) or 0
  local noted = tonumber(field(KEYS[2], 'lease:' .. token, 16))
  lease = noted and noted - clock
  each(field(KEYS[2], 'holds:' .. token, 65536), function(hold, ends)
    if hold ~= token or not noted then lease = math.max(ends - clock, lease or ends - clock) end
    if hold == token or tonumber(ends) > clock then holds = holds + 1 end
  end)
  if string.sub(token, 1, 7) == 'shared:' and tonumber(redis.pcall('ZSCORE', ARGV[1], token)) == math.huge then
    -- Few have expired: each reader that enters removes some of them. We read no more than is_small() has measured.
    local over = is_small(ARGV[1], 1000) and redis.pcall('ZRANGEBYSCORE', ARGV[1], '-inf', clock, 'LIMIT', 0, 900)
    local list = over and #over < 900 and
                 redis.pcall('ZRANGEBYSCORE', ARGV[1], '(' .. string.format('%.0f', clock), '(inf', 'WITHSCORES',
                             'LIMIT', 0, 100) or {}
    local function name(reader, ends)
      readers[#readers + 1] = {reader, string.format('%.0f', ends - clock), field(KEYS[2], reader, 8192),
                               string.match(field(KEYS[2], 'fence:' .. reader, 32), '^%d+$') or '0',
                               string.sub(redis.sha1hex(reader), 1, 16)}
    end
    local ends = tonumber(redis.pcall('ZSCORE', ARGV[1], ARGV[2]))
    if ends and ends > clock and ends < math.huge then name(ARGV[2], ends) end
    for at = 1, #list, 2 do
      if list[at] ~= ARGV[2] and #readers < 100 then name(list[at], list[at + 1]) end
    end
    there = math.floor(#list / 2)
    local members = (there == 100 or there == 0) and redis.pcall('ZCARD', ARGV[1])
    -- One member is the lock's value.
    if type(members) == 'number' then there = members - 1 - #(over or {}) end
  end
elseif kind == 'hash' then
  for at = 1, #all, 2 do
    local times = #all[at + 1] <= 9 and string.match(all[at + 1], '^%d+$')
    if #all[at] <= 80 and string.match(all[at], '^[%x-]+:%d+$') and times and
       (member == '' or all[at] < member) then
      member, count = all[at], tonumber(times)
    end
  end
end
return {'seen', kind, string.sub(value, 1, 1024), left, who, fence, holds, member, count, run, readers,
        there, lease or left}
