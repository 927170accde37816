#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""service_proxy.py PORT_FILE SOCKET [WORD...]

Forwards connections to the server on that socket, and refuses what some services and compatible servers refuse, which
no setting of a Redis does:

declared         a script that uses a key which is not in its KEYS
keyed            a script without keys
slots            a message in a script whose channel belongs to another slot than the script's first key
no-scripts       all scripts
numbers          (not refused:) a script gets scores as numbers, not as text
hide=FIELD       INFO does not have that field; several times
lacks=COMMAND    the server does not know that command; several times
idle=SECONDS     a connection over which the client has sent nothing for this time is closed
tls=CERTIFICATE  speaks TLS, with CERTIFICATE.crt and CERTIFICATE.key

Each refusal is an error of the server itself, in the order of the requests: the proxy replaces the request.
"""
import asyncio
import hashlib
import os
import ssl
import sys

PORT_FILE, SOCKET = sys.argv[1:3]
WORDS = sys.argv[3:]
HIDDEN = [word[5:] for word in WORDS if word.startswith("hide=")]
LACKS = [word[6:].upper() for word in WORDS if word.startswith("lacks=")]
IDLE = next((float(word[5:]) for word in WORDS if word.startswith("idle=")), None)
TLS = next((word[4:] for word in WORDS if word.startswith("tls=")), None)

# Stands before each script, and makes `redis` its own. An error of call() ends the script, pcall() returns it.
PRELUDE = """local server, declared, hidden, lacks, numbers = redis, {}, {%s}, {%s}, %s
for _, key in ipairs(KEYS) do declared[key] = true end
local function tag(key) return string.match(key, '{([^}]+)}') or key end
local at = {MEMORY = 2, INFO = 0, TIME = 0, PUBLISH = 0, SPUBLISH = 0}
local function refusal(command, ...)
  if lacks[command] then return 'ERR Unknown Redis command called from script' end
  local first = at[command] or 1
  local last = (command == 'DEL' or command == 'UNLINK') and select('#', ...) or first
  for i = math.max(first, 1), %s and last or 0 do
    local key = select(i, ...)
    if not declared[key] then return 'ERR script tried accessing undeclared key, key: ' .. key end
  end
  if %s and command == 'PUBLISH' and tag((...)) ~= tag(KEYS[1]) then
    return 'ERR Script attempted to access keys that do not hash to the same slot'
  end
end
local function through(ask, fail)
  return function(command, ...)
    command = string.upper(command)
    local why = refusal(command, ...)
    if why then return fail(why) end
    local answer = ask(command, ...)
    for _, field in ipairs(command == 'INFO' and type(answer) == 'string' and hidden or {}) do
      answer = string.gsub(answer, field .. ':[^\\r\\n]*\\r?\\n', '')
    end
    if numbers and command == 'ZSCORE' and type(answer) == 'string' then return tonumber(answer) end
    local scored = false
    for _, word in ipairs({...}) do scored = scored or word == 'WITHSCORES' end
    for at = 2, numbers and scored and #answer or 0, 2 do answer[at] = tonumber(answer[at]) end
    return answer
  end
end
local redis = {call = through(server.call, error), pcall = through(server.pcall, function(why) return {err = why} end),
               sha1hex = server.sha1hex, error_reply = server.error_reply, status_reply = server.status_reply}
""" % (
    ", ".join(f"'{field}'" for field in HIDDEN),
    ", ".join(f"['{command}'] = true" for command in LACKS),
    *("true" if word in WORDS else "false" for word in ("numbers", "declared", "slots")),
)
INFO = PRELUDE + "return redis.call('INFO', unpack(ARGV))"
known = {}  # SHA-1 of a script → the script


def error(text):
    return [b"EVAL", f"return {{err = '{text}'}}".encode(), b"0"]


def replaced(words):
    """The request that the server gets in place of this one."""
    name = words[0].upper()
    if name.decode() in LACKS:
        return error(f"ERR unknown command \\'{name.decode()}\\'")
    if name == b"INFO" and HIDDEN:
        return [b"EVAL", INFO.encode(), b"0", *words[1:]]
    if name not in (b"EVAL", b"EVALSHA"):
        return words
    if "no-scripts" in WORDS:
        return error("ERR This instance has Lua scripting support disabled")
    if "keyed" in WORDS and words[2] == b"0":
        return error("ERR Lua scripts without any input keys are not supported.")
    script = words[1]
    if name == b"EVALSHA":
        if script not in known:
            return words  # the server does not know it either
        script = known[script]
    known[hashlib.sha1(script).hexdigest().encode()] = script
    return [b"EVAL", PRELUDE.encode() + script, *words[2:]]


async def next_request(client):
    line = await asyncio.wait_for(client.readline(), IDLE)
    if not line.startswith(b"*"):
        raise ConnectionError
    words = []
    for _ in range(int(line[1:])):
        length = int((await client.readline())[1:])
        words.append((await client.readexactly(length + 2))[:-2])
    return words


async def forward_requests(client, server):
    while True:
        words = replaced(await next_request(client))
        server.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        await server.drain()


async def forward_answers(server, client):
    while data := await server.read(65536):
        client.write(data)
        await client.drain()


async def serve(client, to_client):
    server, to_server = await asyncio.open_unix_connection(SOCKET)
    both = [asyncio.create_task(forward_requests(client, to_server)), asyncio.create_task(forward_answers(server, to_client))]
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    for task in both:
        task.cancel()
    await asyncio.gather(*both, return_exceptions=True)
    for writer in (to_client, to_server):
        writer.close()


async def main():
    context = None
    if TLS:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS + ".crt", TLS + ".key")
    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context, limit=1 << 20)
    with open(PORT_FILE + ".new", "w", encoding="ascii") as file:
        file.write(str(listener.sockets[0].getsockname()[1]))
    os.rename(PORT_FILE + ".new", PORT_FILE)
    await listener.serve_forever()


asyncio.run(main())
