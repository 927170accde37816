-- SPDX-License-Identifier: MIT
--
-- The slots of a lock, after readers.lua. A lock with slots is a shared lock whose readers differ by a number:
-- "pSSNN…" is the token of the holder of slot SS of NN, in hexadecimal digits. The first holder's token is the
-- generation, so every script knows how many there are.
--
-- Sets: slot, slots: of our token, if it has a slot; fits: the lock is shared by holders of our kind; taken:
-- slot → the token of its holder; soonest: when the first of them stops counting; crowd: somebody has made the
-- list too large to read, and no slot counts as free.
local slot, slots = token:match('^p(%x%x)(%x%x)')
local fits = shared and shared:match('^shared:p%x%x(%x%x)') == slots
local taken, soonest = {}, math.huge
local crowd = slot and fits and not is_small(readers, 1024, 1024)
if slot and fits and not crowd then
  local from = '(' .. ('%.0f'):format(clock)
  for _, each in ipairs(redis.call('ZRANGEBYSCORE', readers, from, '+inf')) do
    local at = each:match('^p(%x%x)')
    if at then
      taken[at] = each
      soonest = math.min(soonest, ends_of(each))
    end
  end
end
local occupant = slot and taken[slot] ~= token and taken[slot]
