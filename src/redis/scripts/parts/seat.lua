-- SPDX-License-Identifier: MIT
--
-- What acquire_shared.lua and acquire_slot.lua have in common once we may enter.

-- Readers that died are removed, some at a time.
for _, each in ipairs(shared and is_small(readers, 32) and
                      try('ZRANGEBYSCORE', readers, '-inf', clock, 'LIMIT', 0, 32) or {}) do
  if each ~= token then
    try('ZREM', readers, each)
    try('HDEL', KEYS[2], each, 'fence:' .. each, 'holds:' .. each)
  end
end
-- If nobody held the lock, all that the hash still says is about former holders.
local first = not shared
local life = enter(ttl)
if first then unlink(KEYS[2]) end
if not joins then try('HSET', KEYS[2], shared, ARGV[3]) end
