-- SPDX-License-Identifier: MIT
--
-- acquire.lua for a run with --newest or --build: refuses it if there is a newer one.
--
-- KEYS[1] to KEYS[4], ARGV[1] to ARGV[11]  as in acquire.lua; without --once ARGV[11] is 0, and KEYS[5], only for
--     --build, is the mark of the last successful build: see mark.lua
-- ARGV[12]  our build; '': without --build
-- ARGV[13]  '1': of the waiters with --newest only the newest goes on
--
-- Replies as acquire.lua, and
-- {'superseded', build, how many ms ago its run succeeded, who or ''}    that build is larger than ours; build '': a
--     newer waiter waits, or has got the lock since we came
--include alone
-- The newest of the waiters with --newest stands in the string `newest`: "BUILD TICKET WAITER STATE WHO". BUILD: of
-- --build, or 0. STATE: 'waits', or 'has' once that waiter got the lock: a waiter before it that was stopped, and did
-- not hear of it, must not follow it. WHO: as JSON. One that died counts no longer: nobody could wake it.
local build, ticket, newest = tonumber(ARGV[12]), tonumber(ARGV[8]), prefix .. 'newest'
local mark = build and (not ours or joins) and read(KEYS[5], 8192)
local number, ended, by = (type(mark) == 'string' and mark or ''):match('^(%d+) (%d+) (.*)$')
-- Our numbers end before 2^53. What is larger, another program has written.
if number and tonumber(number) < 2 ^ 53 and tonumber(number) > build then
  return {'superseded', number, math.max(clock - ended, 0), #by <= 8192 and by or ''}
end
if ARGV[13] == '1' and not ours and not joins then
  build = build or 0
  local text = read(newest, 8192)
  local theirs, last, other, state, who =
    (type(text) == 'string' and text or ''):match('^(%d+) (%d+) (%S+) (%l+) (.*)$')
  theirs, last = tonumber(theirs), tonumber(last)
  if last and math.max(theirs, last) >= 2 ^ 53 then theirs, last, other = nil, nil, nil end
  local older = theirs and other ~= us and (build < theirs or build == theirs and ticket and
                (ticket < last or ticket == last and us < other))
  local ends = older and tonumber(try('ZSCORE', alive, other) or 0) or 0
  if older and (state == 'has' and build == theirs or
                ends > clock and (asked_lately(ends) or tell(other, 'newer') ~= 0)) then
    return {'superseded', '', 0, #who <= 8192 and who or ''}
  end
  local noted = not ticket or other == us
  if not noted then
    noted = try('SET', newest, string.format('%.0f %.0f %s waits ', build, ticket, us) .. ARGV[3], 'PX', 2592000000)
    if other then tell(other, 'free') end
  end
  -- A clock may have been set back since the last one came.
  local refuse_any = refuse
  refuse = function(...)
    local answer = refuse_any(...)
    -- Without permission for that key we replace nobody, as without a place in the queue.
    if not noted then answer[7] = 0 end
    if not ticket then
      answer[6] = ('%.0f'):format(math.min(math.max(answer[6], (last or 0) + 1), 2 ^ 53))
    end
    return answer
  end
end
--include take
