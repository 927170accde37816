# SPDX-License-Identifier: MIT
"""A waiter: `redlock run` in a loop, directly on the servers, each time until it gets the lock; and the
queue of waiters, as the servers show it."""
import asyncio
import json
import os
import urllib.parse

import processes
from chaos import Chaos
from contender import Contender
from servers import read_list

LOCK = "soak"
MOST_STOPPED = 2  # servers at a time


class Waiter(Contender):
    def __init__(self, number, world, rng):
        super().__init__(number, LOCK, world, rng)
        self.lines = []  # no proxies
        self.asked = 0

    def words(self):
        """Writing into a file takes redlock a process more."""
        return super().words() if self.world.options.words else os.devnull

    async def connect(self):
        self.know_servers("unix://" + urllib.parse.quote(server.socket) for server in self.world.servers)

    async def run_once(self):
        self.asked = processes.boot_ns()
        await super().run_once()

    def patience(self):
        return []

    def job(self):
        """Most are as short as a job can be; a few last long enough to be killed, or renewed."""
        longer = self.rng.random() < self.world.options.long_jobs
        length = self.rng.uniform(200, 1000) if longer else self.rng.uniform(0, 10)
        return [self.world.job, self.world.directory, str(self.number), self.run, f"{length:.0f}"]

    def holds(self):
        """Whether it has more than the one process of a waiter, or of one that only writes."""
        if self.process is None:
            return False
        pid = self.process.pid
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
                return len(children.read().split()) > self.world.options.words
        except (FileNotFoundError, ProcessLookupError):
            return False

    async def kill(self):
        if self.holds():
            return await super().kill()
        # Perhaps it has just got the lock: then its worker ends the job.
        self.fate = "orphaned"
        processes.send(self.process.pid, 9)
        await processes.gone(self.process.pid)


class SoakChaos(Chaos):
    """Kills waiters, those in front more often than the others, and holders; stops servers."""

    def __init__(self, world, rng):
        super().__init__(world, rng)
        self.faults = {
            "waiter-killed": (12, self.a_waiter, self.kill_waiter),
            "holder-killed": (3, self.a_holder, self.kill_holder),
            "server-stopped": (4, self.a_server, self.stop_one_more),
        }

    def choose(self, victims):
        return victims()

    def length(self):
        return self.rng.uniform(0.3, 3)

    def a_waiter(self):
        waiters = self.world.contenders
        if self.rng.random() < 0.5:
            waiters = sorted(waiters, key=lambda waiter: waiter.asked)[:10]
        return self.rng.choice(waiters)

    def a_holder(self):
        """If nobody holds the lock now, kill_holder does nothing."""
        waiters = self.world.contenders
        return next((waiter for waiter in waiters if waiter.holds()), waiters[0])

    def a_server(self):
        return self.rng.choice(self.world.servers)

    async def kill_waiter(self, waiter, length):
        if waiter.holds():
            return False
        return await self.kill_client(waiter, length)

    async def kill_holder(self, waiter, length):
        if not waiter.holds():
            return False
        return await self.kill_client(waiter, length)

    async def stop_one_more(self, server, length):
        """`server` is in trouble already."""
        if sum(each.in_trouble for each in self.world.servers) > MOST_STOPPED:
            return False
        await self.stop_server(server, length)


class QueueWatch:
    """Logs for the checker when each run stood in the queue of a quorum of servers."""

    def __init__(self, world):
        self.world = world
        self.log = world.open_log("queue.log")
        self.seen = {}  # waiter: (its run, on which servers)

    def tell(self, word, *more):
        print(word, *more, file=self.log)

    async def watch(self, server):
        reader, writer = await asyncio.open_unix_connection(server.socket)
        while True:
            writer.write(f"ZRANGE redlock:{{{LOCK}}}:queue 0 -1\r\n".encode())
            waiters = await read_list(reader)
            new = [waiter for waiter in waiters if waiter not in self.seen]
            if new:
                writer.write(f"HMGET redlock:{{{LOCK}}}:waiters {' '.join(new)}\r\n".encode())
                for waiter, who in zip(new, await read_list(reader)):
                    if who is not None:
                        self.seen[waiter] = (self.run_of(json.loads(who)["pid"]), set())
            for waiter in waiters:
                run, servers = self.seen.get(waiter, (None, ()))
                if run is not None and server.number not in servers:
                    servers.add(server.number)
                    if len(servers) == len(self.world.servers) // 2 + 1:
                        self.tell("joined", processes.boot_ns(), run)
            await asyncio.sleep(0.2)

    def run_of(self, pid):
        """The run of that process; None if it is dead already."""
        for waiter in self.world.contenders:
            if waiter.process is not None and waiter.process.pid == pid:
                return waiter.run
        return None
