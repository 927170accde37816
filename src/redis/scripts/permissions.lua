-- SPDX-License-Identifier: MIT
--
-- Lists the commands of redlock's scripts that this user may not run on the keys of a lock, or that the server
-- does not know. Changes nothing: each writing command gets invalid arguments (an unknown number, a field too
-- few), which the server refuses only after it has checked the permission.
--
-- KEYS[1] to KEYS[4]  as in acquire.lua; with ARGV[2] 'queue' the keys of queue.lua
-- KEYS[1]  alone: the log; with ARGV[2] 'sharded' the lock, on a node of a Cluster: a server before Redis 7 does
--          not know SPUBLISH, and no permission is missing there; with ARGV[2] 'redisson' the lock: what redisson.lua
--          needs besides, and in ARGV[3] the queue of Redisson's fair locks; with ARGV[2] 'option' the key that
--          --newest or --build needs
-- ARGV[1]  but for the log: a channel of the lock that has no subscriber
--
-- {command, …}, in lower case; empty if no permission is missing. '&': the channel.
local denied = {}
local function try(command, ...)
  local answer = redis.pcall(command, ...)
  local why = type(answer) == 'table' and answer.err or ''
  -- Redis 6, 7.0 and 7.2 word this differently. A provider may have renamed the command.
  if string.find(why, 'NOPERM', 1, true) or string.find(why, 'ACL failure', 1, true) or
     string.find(why, 'user executing the script', 1, true) or
     (ARGV[2] ~= 'sharded' and string.find(why, 'Unknown %S+ command')) then
    denied[#denied + 1] = string.find(why, 'channel', 1, true) and '&' or string.lower(command)
  end
  return answer
end
if ARGV[2] == 'sharded' then
  try('SPUBLISH', ARGV[1], '')
  return denied
elseif ARGV[2] == 'redisson' then
  local fields = try('HLEN', KEYS[1])
  local size = redis.pcall('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 1)
  if (tonumber(fields) or 0) <= 1 and (tonumber(size) or 0) <= 16384 then try('HGETALL', KEYS[1]) end
  try('LINDEX', ARGV[3], 'none')
  try('PUBLISH', ARGV[1], '')
  return denied
elseif ARGV[2] == 'option' then
  if (tonumber(try('STRLEN', KEYS[1])) or 0) <= 1024 then try('GET', KEYS[1]) end
  try('SET', KEYS[1], '', 'PX', 'none')
  return denied
elseif #KEYS == 1 then
  try('XADD', KEYS[1], 'none', '', '')
  return denied
elseif ARGV[2] == 'queue' then
  for at = 1, 2 do
    try('ZADD', KEYS[at], 'none', '')
    try('ZREM', KEYS[at], '')
  end
  try('ZRANGE', KEYS[1], 1, 0)
  try('ZRANK', KEYS[1], '')
  try('ZCARD', KEYS[1])
  try('ZSCORE', KEYS[2], '')
  try('ZRANGEBYSCORE', KEYS[2], 1, 0)
  try('HSET', KEYS[3], '', '', '')
  try('SET', KEYS[4], '', 'PX', 'none')
  try('PUBLISH', ARGV[1], '')
  return denied
end
-- Anybody may have written the keys, of any size: a long value is not read.
local function is_short(size)
  return type(size) ~= 'number' or size <= 1024
end
local kind = try('TYPE', KEYS[1])
if is_short(try('STRLEN', KEYS[1])) then try('GET', KEYS[1]) end
try('GETRANGE', KEYS[1], 0, 0)
try('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 1)
try('PTTL', KEYS[1])
try('SET', KEYS[1], '', 'PX', 'none')
try('PEXPIRE', KEYS[1], 'none')
if kind.ok == 'none' then
  try('DEL', KEYS[1])
  try('UNLINK', KEYS[1])
end
if is_short(try('HSTRLEN', KEYS[2], '')) then try('HGET', KEYS[2], '') end
if is_short(redis.pcall('HSTRLEN', KEYS[3], '')) then try('HMGET', KEYS[3], '') end
try('HSET', KEYS[2], '', '', '')
try('HDEL', KEYS[2], '')
try('INFO', 'server')
try('TIME')
try('PUBLISH', ARGV[1], '')
return denied
