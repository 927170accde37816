-- SPDX-License-Identifier: MIT
--
-- Reads a string that another program may have written, of any size. If it is longer than any of ours, only its
-- first 1024 bytes, where the user may ask for the size.
local function read(key, longest)
  local size = tonumber(redis.pcall('STRLEN', key)) or 0
  local head = size > longest and redis.pcall('GETRANGE', key, 0, 1023)
  return type(head) == 'string' and head or redis.call('GET', key)
end
