-- SPDX-License-Identifier: MIT
--
-- Reads a field that another program may have written, of any size: '' if there is none, if it is longer than any
-- of ours, or if the user may not read it. Asks for the size first, where the user may.
local function field(key, name, longest)
  local size = tonumber(redis.pcall('HSTRLEN', key, name)) or 0
  local text = size <= longest and redis.pcall('HGET', key, name)
  return type(text) == 'string' and #text <= longest and text or ''
end
