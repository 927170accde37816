-- SPDX-License-Identifier: MIT
--
-- The first waiter before us that counts and cannot hold the lock together with us: for a reader, a writer.
-- Also returns, if it may yet prove to be stopped, for how many ms it can still ask.
--
-- enters_with_us(waiter)  whether that waiter can
local function other_before(ticket)
  local called, first, left = 0
  local last = walk(us, ticket, enters_with_us, function(each, ends, missed)
    if not first and asked_lately(ends) then
      first = each
      return 'stop'
    end
    local answer = ends > clock + 500 and call(each, ends) or 'called'
    if answer == 'dead' then return answer end
    if not first then
      -- We ask again after 250 ms: an answer to the call is still young then, see asked_lately().
      first, left = each, answer == 'called' and math.floor(math.min(ends - clock, 250)) or nil
    end
    called = called + 1
    return (missed == 0 or called >= batch(missed)) and 'stop' or 'on'
  end)
  if not first and last then return last, 500 end
  return first, left
end
