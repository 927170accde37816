-- SPDX-License-Identifier: MIT
--
-- Reads a page of the log of a lock backwards. Changes nothing.
--
-- KEYS[1]  the log
-- ARGV[1]  the ID of the first line of the page, '+' for the latest line of the log
-- ARGV[2]  how many lines at most
--
-- {'log', {id, event, run, data, count, time}, …}    as in log.lua; '' for a field that is missing, or
--     longer than 2048 bytes
-- {'long', how many lines, how many bytes}    longer lines than redlock's: the log takes more than 64 KiB and 4096
--     bytes for each line, or more than 12 MB and 200 bytes for each line, and the script does not read it
-- {'replica', 'host:port of the primary'}
--include replica

local lines = redis.pcall('XLEN', KEYS[1])
local size = redis.pcall('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 0)
if type(lines) == 'number' and type(size) == 'number' and size > math.min(65536 + 4096 * lines, 12e6 + 200 * lines) then
  return {'long', lines, size}
end
local page = {'log'}
for _, line in ipairs(redis.call('XREVRANGE', KEYS[1], ARGV[1], '-', 'COUNT', ARGV[2])) do
  local told = {}
  for at = 1, #line[2], 2 do
    if #line[2][at + 1] <= 2048 then told[line[2][at]] = line[2][at + 1] end
  end
  page[#page + 1] = {line[1], told.event or '', told.run or '', told.data or '', told.count or '',
                     told.time or ''}
end
return page
