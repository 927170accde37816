-- SPDX-License-Identifier: MIT
--
-- Whether a sorted set has no more members than `most`, and those take at most 1 MB more than ours would. True if
-- the user may not ask. Anybody may have added members, of any number and size, and no command says how long one
-- of them is. But the server knows what memory the members with the 1024 lowest scores take on average.
local function is_small(key, most)
  local count = tonumber(redis.pcall('ZCARD', key)) or 0
  local size = tonumber(redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', 1024)) or 0
  return count <= most and size <= 1e6 + 512 * count
end
