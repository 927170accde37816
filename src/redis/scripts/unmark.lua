-- SPDX-License-Identifier: MIT
--
-- Removes the mark of a run.
--
-- KEYS[1]  the mark
-- ARGV[1]  who ran, as JSON
--
-- {'released'}, {'missing'}: there is none, or that of another run
--include read
if string.match(read(KEYS[1], 8192) or '', '^%d+ (.*)$') ~= ARGV[1] then return {'missing'} end
redis.call('DEL', KEYS[1])
return {'released'}
