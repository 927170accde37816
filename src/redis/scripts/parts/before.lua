-- SPDX-License-Identifier: MIT
--
-- The first waiter before us that cannot hold the lock together with us: for a reader, a writer. For the
-- scripts that include it behind turn.lua. Beyond the 32nd waiter, this script takes each for one.
--
-- enters_with_us(waiter)  whether that waiter can
local function other_before(ticket)
  local first = try('ZRANGE', queue, 0, 31, 'WITHSCORES') or {}
  for at = 1, #first, 2 do
    local each, theirs = first[at], tonumber(first[at + 1])
    if ticket and (theirs > ticket or (theirs == ticket and each >= ARGV[7])) then return end
    if not enters_with_us(each) and tonumber(try('ZSCORE', alive, each) or 0) > clock and
       not is_marked(each) then
      return each, true
    end
  end
  return first[63]
end
