-- SPDX-License-Identifier: MIT
--
-- Marks the lock as revoked from the holder that the user saw, and notifies that holder. The time to live does
-- not change: when it is over, or the holder has stopped its job, the lock is free.
--
-- KEYS[1]  the lock, and no other key except for a shared one:
-- KEYS[2]  the readers: see readers.lua. The script revokes the lock from all of them
-- ARGV[1]  the token, or "shared:GENERATION"
-- ARGV[2]  the new value: "revoked:TOKEN", a blank, and the revoker as JSON
-- ARGV[3]  the channel of the notices to the holder; of readers, its beginning, before the token
--
-- {'revoked', how many subscribers, the readers, with blanks between them, changed}    changed: 0 if it was revoked
--     before; then the value stays, and the holder is notified again
-- {'missing'}, {'not_mine', value}
--include sizes
--include string
local value = read(KEYS[1], 1024) or ''
local changed = value == ARGV[1]
if changed then
  -- SET would remove the time to live (KEEPTTL needs Redis 6).
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 then
    redis.call('SET', KEYS[1], ARGV[2])
  else
    -- At maxmemory, Redis refuses SET until the script has sent a write that needs no memory.
    redis.pcall('PEXPIRE', KEYS[1], math.max(left, 1))
    redis.call('SET', KEYS[1], ARGV[2], 'PX', math.max(left, 1))
  end
  value = ARGV[2]
elseif string.match(value, '^revoked:(%S+)') ~= ARGV[1] then
  return {'not_mine', string.sub(value, 1, 1024)}
end
-- The notice names who revoked the lock: if the lock is deleted soon, the holder cannot read that.
local notice = 'revoked ' .. (string.match(value, ' (.*)') or '')
local told = 0
local readers = {''}
-- Readers that the script cannot name hear of the revocation at their next renewal.
if KEYS[2] then readers = is_small(KEYS[2], 1000) and redis.pcall('ZRANGE', KEYS[2], 0, 999) or {} end
for _, reader in ipairs(readers) do
  local heard = redis.pcall('PUBLISH', ARGV[3] .. reader, notice)
  told = told + (type(heard) == 'number' and heard or 0)
end
return {'revoked', told, table.concat(readers, ' '), changed and 1 or 0}
