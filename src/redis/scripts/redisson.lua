-- SPDX-License-Identifier: MIT
--
-- With --as redisson the client puts this before each script on the lock's key: there the key is a hash with one
-- field, as Redisson's locks are. The field is the lock's value, then ":0". To the script it looks like a string.
--
-- KEYS[1]  the lock. The queue of Redisson's fair locks stands at the end of KEYS, as in queue.lua
local server, lock = redis, KEYS[1]
local tag = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
local queue = 'redisson_lock_queue:' .. tag
-- Some scripts tell by the number of their keys what to do.
if KEYS[#KEYS] == queue then KEYS[#KEYS] = nil end

local function size_of(key)
  return tonumber(server.pcall('MEMORY', 'USAGE', key, 'SAMPLES', 1)) or 0
end

-- The type of the key, and our value in it.
local function look()
  local kind = server.call('TYPE', lock).ok
  local ours = kind == 'hash' and server.pcall('HLEN', lock) == 1 and size_of(lock) <= 16384
  local value = ours and string.match(server.call('HGETALL', lock)[1], '^(.*):0$')
  return kind, value and string.find(value, '^%l-:?r' .. string.rep('%x', 39)) and value
end

-- What Redisson does after an unlock. Its version 4 hears SPUBLISH, version 3 PUBLISH; a fair lock wakes the first
-- waiter of its queue, which hears nothing else.
local function wake_redisson()
  local channel = 'redisson_lock__channel:' .. tag
  local first = size_of(queue) <= 1e6 and server.pcall('LINDEX', queue, 0)
  for _, each in ipairs({channel, type(first) == 'string' and channel .. ':' .. first or nil}) do
    server.pcall('PUBLISH', each, '0')
    server.pcall('SPUBLISH', each, '0')
  end
end

-- Of a read-write lock, which does not respect other locks.
local function has_mode()
  return (tonumber(server.pcall('HSTRLEN', lock, 'mode')) or 0) > 0
end

-- The types by which the scripts know other programs' keys.
local foreign = {string = 'plain string', hash = 'redisson'}
local commands = {
  TYPE = function(ask, kind, value)
    local type = value and 'string' or foreign[kind] or kind
    return {ok = type == 'redisson' and has_mode() and 'redisson mode' or type}
  end,
  GET = function(ask, kind, value) return value end,
  STRLEN = function(ask, kind, value) return value and #value end,
  GETRANGE = function(ask, kind, value, from, to) return value and string.sub(value, from + 1, to + 1) end,
  SET = function(ask, kind, value, new, ...)
    local ms = select('#', ...) > 1 and select(-1, ...)
    if kind ~= 'none' and (not value or ... == 'NX') then return false end
    -- Without these permissions we could not find our lock again.
    for _, name in ipairs(kind == 'none' and {'HLEN', 'HGETALL'} or {}) do
      local may = ask(name, lock)
      if type(may) == 'table' and may.err then return may end
    end
    local set = ask('HSET', lock, new .. ':0', 1)
    if type(set) == 'table' then return set end
    if value and value ~= new then
      server.call('HDEL', lock, value .. ':0')
      wake_redisson()
    end
    local lasts = ms and server.pcall('PEXPIRE', lock, ms)
    if type(lasts) ~= 'table' then return {ok = 'OK'} end
    -- Redisson would wait for the end of a lock that never expires.
    if not value then server.call('DEL', lock) end
    return ask('PEXPIRE', lock, ms)
  end,
}
for _, name in ipairs({'DEL', 'UNLINK'}) do
  commands[name] = function(ask)
    local gone = ask(name, lock)
    if gone == 1 then wake_redisson() end
    return gone
  end
end

local function through(ask)
  return function(command, ...)
    local f = ... == lock and commands[command]
    if not f then return ask(command, ...) end
    local kind, value = look()
    return f(ask, kind, value, select(2, ...))
  end
end
local redis = {call = through(server.call), pcall = through(server.pcall), sha1hex = server.sha1hex,
               error_reply = server.error_reply}
