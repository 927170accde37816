-- SPDX-License-Identifier: MIT
--
-- The newest of the waiters with --newest, in the string `newest`: "BUILD TICKET WAITER STATE WHO". BUILD: of
-- --build, or 0. STATE: 'waits', or 'has' once that waiter got the lock: a waiter before it that was stopped, and did
-- not hear of it, must not follow it. WHO: as JSON. If it died, it counts no longer than it could be woken.
local newest = prefix .. 'newest'

local function newest_waiter()
  local text = (try('STRLEN', newest) or 0) <= 8192 and try('GET', newest)
  local build, ticket, waiter, state, who = string.match(text or '', '^(%d+) (%d+) (%S+) (%l+) (.*)$')
  return tonumber(build), tonumber(ticket), waiter, state, who
end

local function note_newest(build, ticket, waiter, state, who)
  local text = string.format('%.0f %.0f %s %s ', build, ticket, waiter, state) .. who
  try('SET', newest, text, 'PX', 2592000000)
end
