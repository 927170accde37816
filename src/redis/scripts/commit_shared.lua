-- SPDX-License-Identifier: MIT
--
-- As commit.lua, for a reader.
--
-- KEYS[1] to KEYS[3], ARGV[1], ARGV[2], replies  as in commit.lua
-- KEYS[4]  the readers: see readers.lua
local token, readers = ARGV[1], KEYS[4]
--include readers
if revoked or not ours then return {'not_committed', '0'} end
--include raise
