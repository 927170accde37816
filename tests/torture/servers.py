# SPDX-License-Identifier: MIT
"""Real Redis servers, each on a Unix socket of its own."""
import asyncio
import os
import shutil
import signal
import time

import processes

BOUND = 20  # seconds a server may take to start


def server_program(directory):
    """The server under its own name: redis-check-rdb is the server too, and looks at argv[0]."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    found = shutil.which("redis-check-rdb") or shutil.which("valkey-check-rdb")
    if not found:
        raise FileNotFoundError("no Redis server: apt-get install redis-tools")
    link = f"{directory}/redis-server"
    if not os.path.islink(link):
        os.symlink(found, link)
    return link


class Server:
    """One server, which keeps its data in an append-only file.

    That file is written before a reply is sent and lies in the kernel's hands (appendfsync no), so
    that a killed server forgets nothing, unless its file is removed.
    """

    def __init__(self, number, directory):
        self.number = number
        self.home = f"{directory}/server.{number}"
        self.socket = f"{self.home}/sock"
        self.program = server_program(directory)
        self.process = None
        self.in_trouble = False  # one fault at a time
        os.mkdir(self.home)

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "KILL", "--", self.program,
            "--port", "0", "--unixsocket", self.socket, "--dir", self.home,
            "--logfile", f"{self.home}/log", "--save", "",
            "--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0",
            stdin=asyncio.subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        deadline = time.monotonic() + BOUND
        while not await self.answers():
            if self.process.returncode is not None or time.monotonic() > deadline:
                raise RuntimeError(f"server {self.number} does not start, see {self.home}/log")
            await asyncio.sleep(0.01)

    async def answers(self):
        try:
            reader, writer = await asyncio.open_unix_connection(self.socket)
        except OSError:
            return False
        writer.write(b"PING\r\n")
        reply = await reader.readline()
        writer.close()
        return reply == b"+PONG\r\n"

    async def kill(self):
        self.process.kill()
        await self.process.wait()

    def forget(self):
        """Of a dead server: removes all its data."""
        for entry in os.scandir(self.home):
            if entry.is_dir():
                shutil.rmtree(entry.path)
            elif entry.name != "log":
                os.unlink(entry.path)

    async def pause(self):
        await processes.stop(self.process.pid)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    async def keys(self):
        """All keys with their time to live in ms, -1: it never expires."""
        script = (
            "local found = {} "
            "for _, key in ipairs(redis.call('KEYS', '*')) do "
            "found[#found + 1] = redis.call('PTTL', key) .. ' ' .. key end "
            "return found"
        )
        reader, writer = await asyncio.open_unix_connection(self.socket)
        writer.write(f'EVAL "{script}" 0\r\n'.encode())
        found = await asyncio.wait_for(read_list(reader), BOUND)
        writer.close()
        return [each.split(" ", 1) for each in found]


async def read_list(reader):
    """A reply that is a list of words or nulls."""
    words = []
    for _ in range(int((await reader.readline())[1:])):
        size = int((await reader.readline())[1:])
        words.append(None if size < 0 else (await reader.readexactly(size + 2))[:-2].decode())
    return words
