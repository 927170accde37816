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
if revoked or not ours then return {'not_committed', '0'} end
--include raise
