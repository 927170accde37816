-- SPDX-License-Identifier: MIT
--
-- As commit.lua, for a reader.
--
-- KEYS[1] to KEYS[3], ARGV[1], ARGV[2]  as in commit.lua
-- KEYS[4]  the readers: see readers.lua
--
-- {'committed'}, or {'not_committed', last number or '0'}
local token, readers = ARGV[1], KEYS[4]
--include readers

local function long(size)
  return type(size) == 'number' and size > 1024
end
if revoked or not ours or long(redis.pcall('HSTRLEN', KEYS[3], 'value')) or
   long(redis.pcall('HSTRLEN', KEYS[3], 'run_id')) then
  return {'not_committed', '0'}
end
--include raise
