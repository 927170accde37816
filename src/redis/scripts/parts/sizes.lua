-- SPDX-License-Identifier: MIT
--
-- Whether a script may read the members of a sorted set with the `first` lowest scores: they take at most 1 MB more
-- than ours would, and the set has at most `most` members, if that is not nil. True if the user may not ask. Anybody
-- may have added members, of any number and size, and no command says how long one of them is. But the server knows
-- what memory that many take on average. Members with higher scores are measured only if there are none of these.
local function is_small(key, first, most)
  local count = tonumber(redis.pcall('ZCARD', key)) or 0
  local size = count > 0 and tonumber(redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', first)) or 0
  return count <= (most or count) and size <= 1e6 + 512 * count
end
